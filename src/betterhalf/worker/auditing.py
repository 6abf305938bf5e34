"""Audits a model where its script would train, and leaves the process there."""

from __future__ import annotations

import atexit
import os
import sys
from pathlib import Path
from typing import Any, NoReturn

from betterhalf import __version__
from betterhalf.auditing.choosing import Choice
from betterhalf.auditing.comments import CommentsIn
from betterhalf.auditing.from_keras.watching import ScriptWatcher
from betterhalf.auditing.running import run_rules
from betterhalf.auditing.view import ModelView
from betterhalf.backends import load
from betterhalf.hardware.facts import read_environment
from betterhalf.hardware.processes import kill_descendants
from betterhalf.keras_seams import install
from betterhalf.records.codec import encode_file
from betterhalf.records.instructions import AuditRequest


class Auditor:
    """Waits for the first training step of the process, and ends the process there.

    Args:
        request: what is asked for.
    """

    current: Auditor | None = None

    def __init__(self, request: AuditRequest):
        self.request = request
        self._folder = Path.cwd()
        self._watcher: ScriptWatcher | None = None
        self._keras: Any = None
        Auditor.current = self

    def watch(self, keras: Any) -> None:
        """Keras was imported: listens, and puts the policy in place."""
        request = self.request
        self._keras = keras
        self._watcher = ScriptWatcher(
            keras,
            request.source if request.source.endswith(".py") else None,
            self._end_with,
            request.policy,
            folder=self._folder,
            loaded_from=request.target if request.kind == "file" else None,
        )
        install(keras, [self._watcher])
        # after those of the frameworks, and so run before them
        atexit.register(self.finish)

    def end_with_model(self, model: Any, batch: Any = None) -> None:
        """Audits a model that does not train, and ends the process."""
        if self._watcher is not None:
            self._end_with(self._watcher.read(model, batch))

    def finish(self) -> None:
        """The script ends without a step: audits the model it compiled or called."""
        view = None if self._watcher is None else self._watcher.finish()
        if view is not None:
            self._write(view)

    def _end_with(self, view: ModelView) -> NoReturn:
        """Ends the process at once: the script's own `finally` must not run on it."""
        self._write(view)
        sys.stdout.flush()
        sys.stderr.flush()
        kill_descendants()
        os._exit(0)

    def _write(self, view: ModelView) -> None:
        request = self.request
        choice = Choice(
            select=request.select,
            ignore=request.ignore,
            lines=CommentsIn(self._folder),
        )
        audit = run_rules(
            view, target=request.target, policy=request.policy, choice=choice
        )
        backend = load(self._keras.backend.backend())
        environment = read_environment(("keras", "numpy", *backend.versions()))
        content = encode_file("audit", audit, f"betterhalf {__version__}", environment)
        beside = Path(f"{request.result}.part")
        beside.write_bytes(content)
        beside.replace(request.result)
