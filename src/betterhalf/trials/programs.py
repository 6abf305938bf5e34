"""The user's program: found, read and checked before anything starts.

A script is started just as the user would start it, so that paths, arguments and
`__main__` are what it expects. It is compiled here, never run: a mistake that Python
can see costs no trial.
"""

from __future__ import annotations

import hashlib
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path

from betterhalf.errors import UsageError


@dataclass(frozen=True, kw_only=True, slots=True)
class Program:
    """What a trial runs.

    Attributes:
        given: script or module as the user gave it.
        arguments: the script's own.
        module: true for `-m package.module`.
        folder: working directory of every trial.
        file: where the source is.
        source: its bytes when the experiment was planned.
    """

    given: str
    arguments: tuple[str, ...]
    module: bool
    folder: Path
    file: Path
    source: bytes

    @property
    def name(self) -> str:
        """The script without its folder, or the module: what records call it."""
        return self.given if self.module else Path(self.given).name

    @property
    def path_shown(self) -> str:
        """The source inside the working directory, else its name alone."""
        inside = self.file.is_relative_to(self.folder)
        path = self.file.relative_to(self.folder) if inside else Path(self.file.name)
        return path.as_posix()

    @property
    def command(self) -> list[str]:
        """The command line of a trial, literally what the user would run."""
        start = ["-m", self.given] if self.module else [self.given]
        return [sys.executable, *start, *self.arguments]

    @property
    def script_hash(self) -> str:
        """SHA-256 of the source when the experiment was planned."""
        return _hash(self.source)

    @property
    def arguments_hash(self) -> str:
        """SHA-256 of the arguments; they may hold secrets, so they are not kept."""
        return _hash("\0".join(self.arguments).encode("utf-8", "surrogateescape"))

    def hash_now(self) -> str | None:
        """Returns the hash of the source as it is now; `None` if it is gone."""
        try:
            return _hash(self.file.read_bytes())
        except OSError:
            return None


def find_program(
    script: str | Path,
    arguments: Sequence[str] = (),
    *,
    module: bool = False,
    folder: Path | None = None,
) -> Program:
    """Returns the program that the user named.

    ```python
    find_program("train.py", ["--batch", "64"]).command[1:]
    # ["train.py", "--batch", "64"]
    ```

    Args:
        script: path of a script, relative to `folder`; or the name of a module.
        arguments: the script's own.
        module: `script` is a module, as in `python -m`.
        folder: working directory; the current one if absent.

    Raises:
        UsageError: there is no such script or module, or it is not Python.
    """
    here = Path.cwd() if folder is None else folder
    given = str(script)
    file = _find_module(given, here) if module else _find_script(given, here)
    try:
        source = file.read_bytes()
    except OSError as error:
        raise UsageError(
            f"Expected a script that can be read. Received: '{given}' "
            f"({error.strerror}). Check its permissions."
        ) from error
    _refuse_what_is_not_python(source, given, file)
    return Program(
        given=given,
        arguments=tuple(map(str, arguments)),
        module=module,
        folder=here,
        file=file,
        source=source,
    )


def _find_script(given: str, here: Path) -> Path:
    file = here / given
    if file.is_dir():
        raise UsageError(
            f"Expected a Python script. Received: '{given}', which is a directory. "
            "Name the script in it, or a module with -m."
        )
    if not file.is_file():
        raise UsageError(
            f"Expected a Python script. Received: '{given}', which does not exist. "
            "Check the path; options of betterhalf go before the script."
        )
    return file


def _find_module(name: str, here: Path) -> Path:
    """Finds the source of a module without importing it, nor the packages around it."""
    first, *rest = name.split(".")
    # what was installed editable may be found by a finder of its own
    spec = _find_spec(first, [str(here), *sys.path]) or _find_installed(first)
    for part in rest:
        inside = spec.submodule_search_locations if spec else None
        spec = _find_spec(part, list(inside or ()))
    if spec is not None and spec.submodule_search_locations is not None:
        spec = _find_spec("__main__", list(spec.submodule_search_locations))
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        raise UsageError(
            f"Expected a module that `python -m` can run. Received: '{name}'. "
            "Run betterhalf in the folder where `python -m` finds it."
        )
    return Path(spec.origin)


def _find_spec(name: str, path: list[str]) -> ModuleSpec | None:
    # the last part alone, so that no parent package needs to be imported
    return PathFinder.find_spec(name, path) if name.isidentifier() else None


def _find_installed(name: str) -> ModuleSpec | None:
    try:
        return find_spec(name) if name.isidentifier() else None
    except ValueError:  # a module without a spec, such as `__main__`
        return None


def _refuse_what_is_not_python(source: bytes, given: str, file: Path) -> None:
    if file.suffix == ".ipynb":
        raise UsageError(
            f"Expected a Python script. Received: '{given}', a notebook. "
            "Convert it: jupyter nbconvert --to script."
        )
    try:
        with warnings.catch_warnings():
            # the script's own; they show in its log
            warnings.simplefilter("ignore")
            compile(source, given, "exec", dont_inherit=True)
    except SyntaxError as error:
        where = f", line {error.lineno}" if error.lineno else ""
        raise UsageError(
            f"Expected a Python script. Received: '{given}'{where}: {error.msg}. "
            "Run it with python first."
        ) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise UsageError(
            f"Expected a Python script. Received: '{given}': {error}. "
            "Run it with python first."
        ) from None


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
