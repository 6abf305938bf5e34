"""Waits for an import that somebody else makes.

The child of an experiment imports neither keras nor a backend before the script does:
the script may set `KERAS_BACKEND` first, or never import keras at all.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def watch_import(
    name: str,
    after: Callable[[ModuleType], None],
    before: Callable[[], None] | None = None,
) -> Callable[[], None]:
    """Calls back around the first import of a module, or at once if it is there.

    Args:
        name: full name of the module, such as `keras`.
        after: called with the module once its body has run, before the importer goes
            on.
        before: called just before its body runs; not called if it is imported already.

    Returns:
        A function that stops waiting.

    Example:

    >>> stop = watch_import("keras", after=lambda keras: print(keras.__version__))
    """
    module = sys.modules.get(name)
    if module is not None:
        after(module)
        return lambda: None
    finder = _Finder(name, before, after)
    sys.meta_path.insert(0, finder)
    return finder.remove


class _Finder(MetaPathFinder):
    def __init__(
        self,
        name: str,
        before: Callable[[], None] | None,
        after: Callable[[ModuleType], None],
    ):
        self._name = name
        self._before = before
        self._after = after
        self._looking = False

    def find_spec(self, fullname: str, *_: Any) -> ModuleSpec | None:
        if fullname != self._name or self._looking:
            return None
        self._looking = True  # the other finders are asked through the same list
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._looking = False
        if spec is None or spec.loader is None:
            return None
        spec.loader = _Loader(spec.loader, self)
        return spec

    def run(self, loader: Any, module: ModuleType) -> None:
        if self._before is not None:
            self._before()
        loader.exec_module(module)
        self.remove()
        self._after(module)

    def remove(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)


class _Loader(Loader):
    """Runs the module with its own loader, then hands that loader back to it."""

    def __init__(self, loader: Any, finder: _Finder):
        self._loader = loader
        self._finder = finder

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._finder.run(self._loader, module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)
