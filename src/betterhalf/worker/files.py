"""Gives each trial its own copy of the files that a script saves through Keras.

Without it the second trial would resume the first one's backup, and every trial would
overwrite the user's checkpoint. What was saved in the trial is read back from there;
what was there before the trial is read from where it is.
"""

from __future__ import annotations

import builtins
import functools
import hashlib
import inspect
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any


_SAVERS = (("save_model", "filepath"), ("save_weights", "filepath"))
_LOADERS = (("load_model", "filepath"), ("load_weights", "filepath"))
_CALLBACKS = (
    ("ModelCheckpoint", "filepath"),
    ("CSVLogger", "filename"),
    ("BackupAndRestore", "backup_dir"),
    ("TensorBoard", "log_dir"),
)


class TrialFiles:
    """Redirects paths that go through Keras into the folder of the trial.

    Args:
        keras: the imported module.
        folder: of the trial; files land in its `files`.
    """

    def __init__(self, keras: Any, folder: str):
        self._keras = keras
        self._folder = Path(folder) / "files"
        self._moved: dict[str, str] = {}

    def redirect(self) -> None:
        """Puts the redirection in place for the rest of the process."""
        saving = self._keras.saving
        for name, argument in _SAVERS:
            self._patch_everywhere(getattr(saving, name), argument, self._moved_path)
        for name, argument in _LOADERS:
            self._patch_everywhere(getattr(saving, name), argument, self._found_path)
        for name, argument in _CALLBACKS:
            owner = getattr(self._keras.callbacks, name)
            owner.__init__ = _with_path(owner.__init__, argument, self._moved_path)
        self._keras.Model.export = _with_path(
            self._keras.Model.export, "filepath", self._moved_path
        )

    def _patch_everywhere(
        self, function: Any, argument: str, change: Callable[[Any], Any]
    ) -> None:
        # Model.save and load_weights look the function up in Keras's own module
        module = inspect.getmodule(inspect.unwrap(function))
        replaced = _with_path(function, argument, change)
        for owner in (self._keras.saving, self._keras.models, module):
            if getattr(owner, function.__name__, None) is function:
                setattr(owner, function.__name__, replaced)

    def _moved_path(self, path: Any) -> Any:
        text = _as_text(path)
        if text is None or "://" in text:
            return path
        absolute = Path(text).absolute()
        if absolute.is_relative_to(self._folder):
            return path
        target = self._folder / _place(absolute)
        target.parent.mkdir(parents=True, exist_ok=True)
        if not self._moved:
            self._read_back()
        self._moved[str(absolute)] = str(target)
        return target if isinstance(path, Path) else str(target)

    def _found_path(self, path: Any) -> Any:
        text = _as_text(path)
        if text is None:
            return path
        target = self._folder / _place(Path(text).absolute())
        if not target.exists():
            return path
        return target if isinstance(path, Path) else str(target)

    def _read_back(self) -> None:
        """Lets the script open or look for a redirected file under its own name."""
        opened = _with_first(builtins.open, self._known_path)
        builtins.open = opened
        io.open = opened
        original, os.stat = os.stat, _with_first(os.stat, self._known_path)
        for able in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
            if original in able:
                able.add(os.stat)  # shutil asks these sets what it may do

    def _known_path(self, path: Any) -> Any:
        text = _as_text(path)
        return path if text is None else self._moved.get(os.path.abspath(text), path)  # noqa: PTH100 (pathlib would come back here)


def _place(absolute: Path) -> Path:
    """Returns where a path lies inside the trial's folder."""
    here = Path.cwd()
    if absolute.is_relative_to(here):
        return absolute.relative_to(here)
    digest = hashlib.sha256(str(absolute.parent).encode()).hexdigest()[:12]
    return Path("elsewhere") / digest / absolute.name


def _as_text(path: Any) -> str | None:
    if isinstance(path, str):
        return path
    return os.fspath(path) if isinstance(path, Path) else None


def _with_path(function: Any, argument: str, change: Callable[[Any], Any]) -> Any:
    signature = inspect.signature(function)

    @functools.wraps(function)
    def changed(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        if argument in bound.arguments:
            bound.arguments[argument] = change(bound.arguments[argument])
        return function(*bound.args, **bound.kwargs)

    return changed


def _with_first(function: Any, change: Callable[[Any], Any]) -> Any:
    @functools.wraps(function)
    def changed(path: Any, *args: Any, **kwargs: Any) -> Any:
        return function(change(path), *args, **kwargs)

    return changed
