"""Replaces the seeds that a script sets, so that the trials of an arm vary.

Equal seeds give bit-identical weights in every process, on all three backends: trials
that keep them have a spread of zero and prove nothing. Block 0 keeps the script's
seeds; in block b each seed becomes a hash of itself and b.
"""

from __future__ import annotations

import functools
import hashlib
import threading
from types import ModuleType
from typing import Any

from betterhalf.backends.seeding import SEED_FUNCTIONS
from betterhalf.keras_seams import watch_import
from betterhalf.records import events
from betterhalf.records.instructions import Instructions
from betterhalf.records.trial import Note
from betterhalf.worker.writing import EventWriter


_LARGEST_SEED = 2**31 - 1  # NumPy takes 32 bits, TensorFlow and Python more


def seed_for_block(seed: int, block: int) -> int:
    """Returns the seed that stands for `seed` in a block.

    Args:
        seed: the script's own.
        block: from 0; block 0 keeps the seed.

    Example:

    >>> seed_for_block(42, 0)
    42
    >>> 0 <= seed_for_block(42, 1) < 2**31
    True
    """
    if block == 0:
        return seed
    digest = hashlib.sha256(f"{seed}/{block}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % _LARGEST_SEED


def replace_seeds(instructions: Instructions, writer: EventWriter) -> None:
    """Replaces the global seed functions of each library as the script imports it."""
    if instructions.block == 0 or instructions.keep_seeds:
        return
    replacing = _Replacing(instructions.block, writer)
    for name, functions in SEED_FUNCTIONS.items():
        watch_import(
            name, after=functools.partial(replacing.patch, functions=functions)
        )


class _Replacing:
    def __init__(self, block: int, writer: EventWriter):
        self._block = block
        self._writer = writer
        self._inside = threading.local()
        self._noted: set[tuple[str, int]] = set()

    def patch(self, module: ModuleType, functions: tuple[tuple[str, str], ...]) -> None:
        for path, name in functions:
            owner: Any = module
            for part in filter(None, path.split(".")):
                owner = getattr(owner, part, None)
            original = getattr(owner, name, None)
            if original is not None:
                full = ".".join(filter(None, (module.__name__, path, name)))
                setattr(owner, name, self._replaced(original, full))

    def _replaced(self, original: Any, name: str) -> Any:
        @functools.wraps(original)
        def seed(*args: Any, **kwargs: Any) -> Any:
            if getattr(self._inside, "busy", False) or not _sets_a_seed(args, kwargs):
                return original(*args, **kwargs)
            self._inside.busy = True  # one seed function may call another
            try:
                args, kwargs = self._with_new_seed(args, kwargs, name)
                return original(*args, **kwargs)
            finally:
                self._inside.busy = False

        return seed

    def _with_new_seed(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], name: str
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if args:
            new = seed_for_block(args[0], self._block)
            self._note(name, args[0], new)
            return (new, *args[1:]), kwargs
        key = next(iter(kwargs))
        new = seed_for_block(kwargs[key], self._block)
        self._note(name, kwargs[key], new)
        return args, {**kwargs, key: new}

    def _note(self, name: str, before: int, after: int) -> None:
        if (name, before) in self._noted:
            return
        self._noted.add((name, before))
        text = f"{name}({before}) became {after}, so that the trials of an arm vary"
        self._writer.write(events.Noted, note=Note(code="seed-replaced", text=text))


def _sets_a_seed(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    given = args[:1] or tuple(kwargs.values())[:1]
    return len(given) == 1 and type(given[0]) is int
