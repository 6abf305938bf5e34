"""The text form of an arm: `POLICY[@BACKEND][+OPTION…]`, and `#N` for a control.

What is typed on a command line, printed in a sentence and put in a file name are one
thing in three spellings; this module is the only one that turns one into another.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import count
from typing import Final

import msgspec

from betterhalf.errors import UsageError
from betterhalf.precision.policies import REFERENCE_POLICY, resolve_policy
from betterhalf.records.arm import Arm


BACKENDS: Final = ("tensorflow", "jax", "torch")
"""The backends of Keras that can train."""

_FORM: Final = "POLICY[@BACKEND][+raw], such as mixed_float16@torch+raw"
_NOT_YET: Final = {
    "jit": "compiled and uncompiled arms",
    "batch": "arms with another batch size",
}


def parse_arm(text: str, default_backend: str) -> Arm:
    """Returns the arm that `text` names.

    A backend that is the default one is left out of the name, so that
    `mixed_float16` and `mixed_float16@jax` are the same arm where jax is the default.

    ```python
    parse_arm("16-mixed@torch+raw", "jax").name  # "mixed_float16@torch+raw"
    ```

    Args:
        text: such as `mixed_bfloat16`, `mixed_float16@torch`, `mixed_float16+raw`,
            `float32#2`.
        default_backend: backend of an arm that names none.

    Raises:
        UsageError: the text has another form, or names what does not exist.
    """
    text = text.strip()
    _refuse_plans(text)
    body, control = _split_control(text)
    head, *options = body.split("+")
    policy_text, at, backend = head.partition("@")
    if not policy_text or (at and not backend):
        raise UsageError(f"Expected an arm as {_FORM}. Received: '{text}'.")
    policy = resolve_policy(policy_text)
    backend = backend or default_backend
    refuse_unknown_backend(backend)
    raw = _read_options(options, text)
    plain_reference = policy == REFERENCE_POLICY and not raw
    if control > 1 and not plain_reference:
        raise UsageError(
            f"Expected '#{control}' behind the reference alone, as in "
            f"'{REFERENCE_POLICY}#{control}'. Received: '{text}'."
        )
    name = _spell(policy, backend, raw, control, default_backend)
    return Arm(
        name=name,
        slug=spell_slug(name),
        policy=policy,
        backend=backend,
        raw=raw,
        is_reference=plain_reference and control == 1,
        control=control,
    )


def parse_arms(text: str | Iterable[str], default_backend: str) -> tuple[Arm, ...]:
    """Returns the arms of an experiment, references first.

    Each backend gets the reference `float32`, named or not. Where it is named again, or
    named and nothing else is on its backend, it runs as an A/A control, `float32#2`.

    ```python
    [arm.name for arm in parse_arms("16-mixed", "jax")]  # ["float32", "mixed_float16"]
    [arm.name for arm in parse_arms("float32", "jax")]  # ["float32", "float32#2"]
    ```

    Args:
        text: arms with commas between them, or one arm an item.
        default_backend: backend of arms that name none.

    Raises:
        UsageError: no arm, an arm that cannot be read, or the same arm twice.
    """
    texts = text.split(",") if isinstance(text, str) else list(text)
    if not any(item.strip() for item in texts):
        raise UsageError(
            "Expected at least one arm, such as mixed_bfloat16. Received: none. "
            "Name it with --arms, or leave --arms out."
        )
    named = [parse_arm(item, default_backend) for item in texts]
    backends = list(dict.fromkeys(arm.backend for arm in named))
    references = [_reference(backend, default_backend) for backend in backends]
    others = _number_controls(named, default_backend)
    _refuse_equal(others)
    return (*references, *others)


def spell_slug(name: str) -> str:
    """Returns the arm's `name` in a form that is safe in a file name.

    ```python
    spell_slug("mixed_float16@torch+raw")  # "mixed_float16-torch-raw"
    spell_slug("float32#2")  # "float32-control2"
    ```
    """
    return re.sub(r"[@+]", "-", name.replace("#", "-control"))


def refuse_unknown_backend(backend: str) -> None:
    """Raises `UsageError` unless Keras can train on `backend`."""
    if backend not in BACKENDS:
        raise UsageError(
            f"Expected a backend of Keras that can train: {', '.join(BACKENDS)}. "
            f"Received: '{backend}'."
        )


def _refuse_plans(text: str) -> None:
    if text.startswith("plan:"):
        raise UsageError(
            "Expected a dtype policy; arms from a precision plan are not there yet. "
            f"Received: '{text}'. Use a policy such as mixed_bfloat16."
        )


def _split_control(text: str) -> tuple[str, int]:
    body, mark, number = text.rpartition("#")
    if not mark:
        return text, 1
    if not re.fullmatch(r"[1-9][0-9]{0,2}", number) or int(number) < 2:
        raise UsageError(
            "Expected a control's number from 2 behind '#', as in 'float32#2'. "
            f"Received: '{text}'."
        )
    return body, int(number)


def _read_options(options: Sequence[str], text: str) -> bool:
    for option in options:
        kind = option.partition("=")[0]
        if kind in _NOT_YET:
            raise UsageError(
                f"Expected no option but +raw; {_NOT_YET[kind]} are not there yet. "
                f"Received: '{text}'. Leave '+{option}' out."
            )
        if option != "raw":
            raise UsageError(f"Expected an arm as {_FORM}. Received: '{text}'.")
    return bool(options)


def _spell(
    policy: str, backend: str, raw: bool, control: int, default_backend: str
) -> str:
    at = "" if backend == default_backend else f"@{backend}"
    behind = "" if control == 1 else f"#{control}"
    return f"{policy}{at}{'+raw' if raw else ''}{behind}"


def _reference(backend: str, default_backend: str) -> Arm:
    return parse_arm(f"{REFERENCE_POLICY}@{backend}", default_backend)


def _number_controls(named: Sequence[Arm], default_backend: str) -> list[Arm]:
    """Returns the arms beside the references; a second naming becomes a control."""
    arms_on = Counter(arm.backend for arm in named)
    taken = {(arm.backend, arm.control) for arm in named if arm.control > 1}
    arms: list[Arm] = []
    for arm in named:
        stands_for_reference = (
            arms_on[arm.backend] > 1 and (arm.backend, 1) not in taken
        )
        if not arm.is_reference:
            arms.append(arm)
        elif stands_for_reference:
            taken.add((arm.backend, 1))
        else:
            number = next(n for n in count(2) if (arm.backend, n) not in taken)
            taken.add((arm.backend, number))
            arms.append(_as_control(arm, number, default_backend))
    return arms


def _as_control(arm: Arm, number: int, default_backend: str) -> Arm:
    name = _spell(arm.policy, arm.backend, arm.raw, number, default_backend)
    return msgspec.structs.replace(
        arm, name=name, slug=spell_slug(name), is_reference=False, control=number
    )


def _refuse_equal(arms: Sequence[Arm]) -> None:
    seen: set[str] = set()
    for arm in arms:
        if arm.name in seen:
            raise UsageError(
                f"Expected arms that differ. Received: '{arm.name}' twice. "
                "Leave one of them out."
            )
        seen.add(arm.name)
