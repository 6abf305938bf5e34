"""Found by `running` alone; see tests/core/auditing/test_running.py."""

from betterhalf.auditing.view import ModelView


FOUND = {}
SILENT = {"anything": ModelView()}
