"""Facts about the user's source: calls, numbers and dtypes, each with its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, final


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where something stands.

    Attributes:
        file: relative to the working directory where inside it.
        line: from 1.
        column: from 0.
        function: the function around it, such as `Gan.train_step`; empty at the top
            level of a module or a class body.
        text: the code, on one line, shortened.
    """

    file: str = ""
    line: int = 0
    column: int = 0
    function: str = ""
    text: str = ""


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class CallSite(Place):
    """A call.

    Attributes:
        target: what is called, names resolved through the imports of the file, such as
            `keras.ops.softmax`; as written where they lead nowhere, such as
            `self.optimizer.scale_loss`.
        arguments: by position: numbers, strings, truth values, `None` and tuples of
            them as they are; anything else as `Code`, its text.
        keywords: the same by name.
        result: the name or attribute that it is assigned to; empty without one.
        looped: whether it stands in a `for` or `while`.
    """

    target: str = ""
    arguments: tuple[Any, ...] = ()
    keywords: Mapping[str, Any] = field(default_factory=dict)
    result: str = ""
    looped: bool = False

    @property
    def name(self) -> str:
        """The last part of the target, such as `scale_loss`."""
        return self.target.rpartition(".")[2]

    @property
    def receiver(self) -> str:
        """The target without its last part, such as `self.optimizer`."""
        return self.target.rpartition(".")[0]


class Code(str):
    """An argument that is no literal: its text, names resolved where it is a name."""

    __slots__ = ()


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class NumberSite(Place):
    """A number that is written in the code.

    Attributes:
        value: its sign included.
        within: target of the innermost call around it; empty without one.
        argument: name of the keyword, or position, at which it stands in that call.
        operator: the innermost operator that it is an operand of, such as `+`.
        name: what it is assigned to or the default of; empty without.
    """

    value: float = 0.0
    within: str = ""
    argument: str | int = ""
    operator: str = ""
    name: str = ""


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class DtypeSite(Place):
    """A dtype that is written in the code: `"float32"`, `np.float32`, `tf.float32`.

    Attributes:
        dtype: as Keras spells it.
        within: target of the innermost call around it; empty without one.
        argument: name of the keyword, or position, at which it stands in that call.
    """

    dtype: str = ""
    within: str = ""
    argument: str | int = ""


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class FunctionSite(Place):
    """A function or method that is defined; `function` is its own qualified name."""

    parameters: tuple[str, ...] = ()
    decorators: tuple[str, ...] = ()


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class ClassSite(Place):
    """A class that is defined.

    Attributes:
        name: qualified in its file.
        bases: names resolved, such as `keras.Model`.
    """

    name: str = ""
    bases: tuple[str, ...] = ()


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class CodeView:
    """The facts of a file, or of a part of it, each kind in source order.

    Attributes:
        file: relative to the working directory where inside it.
        imports: modules that it imports.
        calls: every call.
        numbers: every number.
        dtypes: every dtype.
        functions: every function.
        classes: every class.
    """

    file: str = ""
    imports: tuple[str, ...] = ()
    calls: tuple[CallSite, ...] = ()
    numbers: tuple[NumberSite, ...] = ()
    dtypes: tuple[DtypeSite, ...] = ()
    functions: tuple[FunctionSite, ...] = ()
    classes: tuple[ClassSite, ...] = ()

    def calls_named(self, *names: str) -> Iterator[CallSite]:
        """Yields the calls whose last part is one of `names`, such as `assign`."""
        return (call for call in self.calls if call.name in names)

    def calls_to(self, *targets: str) -> Iterator[CallSite]:
        """Yields the calls of these targets, such as `keras.ops.softmax`."""
        return (call for call in self.calls if call.target in targets)

    def names(self, name: str) -> bool:
        """Whether something of this name is called."""
        return any(call.name == name for call in self.calls)

    def inside(self, *functions: str) -> CodeView:
        """Returns what stands in functions or classes of these qualified names."""

        def is_inside(place: Place) -> bool:
            return any(
                place.function == name or place.function.startswith(name + ".")
                for name in functions
            )

        return self._kept(is_inside)

    def method(self, name: str) -> CodeView:
        """Returns what stands in the methods of this name, of whatever class."""

        def is_in_method(place: Place) -> bool:
            return name in place.function.split(".")

        return self._kept(is_in_method)

    def __add__(self, other: CodeView) -> CodeView:
        """Returns the facts of both."""
        both = {kind: (*getattr(self, kind), *getattr(other, kind)) for kind in _KINDS}
        imports = tuple(dict.fromkeys((*self.imports, *other.imports)))
        return CodeView(file=self.file or other.file, imports=imports, **both)

    def _kept(self, is_kept: Any) -> CodeView:
        kept = {
            kind: tuple(site for site in getattr(self, kind) if is_kept(site))
            for kind in _KINDS
        }
        return replace(self, **kept)


_KINDS = ("calls", "numbers", "dtypes", "functions", "classes")
