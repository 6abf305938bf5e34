"""The user's source behind live classes and functions, and of a script's modules."""

from __future__ import annotations

import inspect
import linecache
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from betterhalf.auditing.reading_code import read_code
from betterhalf.auditing.sources import CodeView, Place
from betterhalf.repairing.dtypes import is_from_keras


class UserCode:
    """Reads each file once.

    Attributes:
        folder: places are told relative to it where inside.
    """

    def __init__(self, folder: Path | None = None):
        self.folder = (folder or Path.cwd()).resolve()
        self._files: dict[str, CodeView] = {}

    def of_class(self, kind: type) -> CodeView | None:
        """Returns the source of a class and of those above it that are the user's."""
        own = [each for each in kind.__mro__ if is_users(each.__module__)]
        own = [each for each in own if not is_from_keras(each)]
        views = [view for each in own if (view := self._of_one(each)) is not None]
        whole = views[0] if views else None
        for view in views[1:]:
            whole = view if whole is None else whole + view
        return whole

    def of_function(self, function: Any) -> CodeView | None:
        """Returns the source of a function of the user's."""
        function = inspect.unwrap(getattr(function, "__func__", function))
        code = getattr(function, "__code__", None)
        if code is None or not is_users(getattr(function, "__module__", None)):
            return None
        view = self.of_file(code.co_filename, function.__module__)
        return None if view is None else view.inside(_plain(function.__qualname__))

    def of_file(self, path: str, module: str | None = None) -> CodeView | None:
        """Returns the source of a file, or of a cell of a notebook."""
        if path not in self._files:
            source = "".join(linecache.getlines(path))
            names = _modules_named_in(sys.modules.get(module or ""))
            view = read_code(source, self.name_of(path), names) if source else None
            self._files[path] = view or CodeView()
        return self._files[path] if self._files[path].file else None

    def of_script(self, script: str) -> CodeView | None:
        """Returns the source of a script and of the user's modules that it imported.

        Those are the modules in or below the folder of the script.
        """
        whole = self.of_file(script)
        beside = Path(script).resolve().parent
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if not file or not file.endswith(".py") or not is_users(name):
                continue
            path = Path(file).resolve()
            if path != Path(script).resolve() and path.is_relative_to(beside):
                view = self.of_file(file, name)
                if view is not None:
                    whole = view if whole is None else whole + view
        return whole

    def name_of(self, path: str) -> str:
        """Returns how a file is called in a finding."""
        if path.startswith("<"):
            return path
        whole = Path(path).resolve()
        if whole.is_relative_to(self.folder):
            return whole.relative_to(self.folder).as_posix()
        return whole.name

    def place_of_caller(self, made: Any = None) -> Place | None:
        """Returns the innermost line of the user's code on the stack.

        Args:
            made: an object whose own `__init__` is passed over.
        """
        frame: Any = sys._getframe(1)
        while frame is not None:
            if not _is_init_of(made, frame) and is_users(
                frame.f_globals.get("__name__"), frame.f_code.co_filename
            ):
                return self._place(frame.f_code.co_filename, frame.f_lineno)
            frame = frame.f_back
        return None

    def place_of_error(self, error: BaseException) -> Place | None:
        """Returns the innermost line of the user's code that an error came through."""
        place, trace = None, error.__traceback__
        while trace is not None:
            frame = trace.tb_frame
            if is_users(frame.f_globals.get("__name__"), frame.f_code.co_filename):
                place = self._place(frame.f_code.co_filename, trace.tb_lineno)
            trace = trace.tb_next
        return place

    def _place(self, path: str, line: int) -> Place:
        text = linecache.getline(path, line).strip()
        return Place(file=self.name_of(path), line=line, text=text)

    def _of_one(self, kind: type) -> CodeView | None:
        path = next(_files_of(kind), None)
        if path is None:
            return None
        view = self.of_file(path, kind.__module__)
        return None if view is None else view.inside(_plain(kind.__qualname__))


_PACKAGE = str(Path(__file__).parents[2])
_NOT_THE_USERS = ("site-packages", "dist-packages", "frozen ")


def is_users(module: str | None, file: str | None = None) -> bool:
    """Whether a module is the user's: no installed package, not ours, not Python's.

    Args:
        module: its name.
        file: of its code; that of the imported module if absent.
    """
    first = (module or "").partition(".")[0]
    if first in {"betterhalf", "keras", "builtins"} or first in sys.stdlib_module_names:
        return first == "__main__"
    if file is None:
        loaded = sys.modules.get(module or "")
        file = getattr(loaded, "__file__", None)
    ours = (file or "").startswith(_PACKAGE)
    return not ours and not any(part in (file or "") for part in _NOT_THE_USERS)


def _is_init_of(made: Any, frame: Any) -> bool:
    code = frame.f_code
    if made is None or code.co_name != "__init__" or not code.co_argcount:
        return False
    return frame.f_locals.get(code.co_varnames[0]) is made


def _files_of(kind: type) -> Iterator[str]:
    for value in vars(kind).values():
        function = getattr(value, "__func__", value)
        code = (
            getattr(inspect.unwrap(function), "__code__", None)
            if callable(function)
            else None
        )
        if code is not None:
            yield code.co_filename


def _modules_named_in(module: ModuleType | None) -> dict[str, str]:
    """Returns the names under which a module holds other modules."""
    held = {} if module is None else vars(module)
    return {
        name: value.__name__
        for name, value in list(held.items())
        if isinstance(value, ModuleType)
    }


def _plain(qualified: str) -> str:
    return qualified.replace("<locals>.", "")
