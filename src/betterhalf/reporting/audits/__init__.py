"""An audit in a terminal, on a page, and in the forms that other programs read."""

from betterhalf.reporting.audits.shown import Audit as Audit
from betterhalf.reporting.audits.text import as_text as as_text
from betterhalf.reporting.audits.text import write_text as write_text
