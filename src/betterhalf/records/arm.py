"""One named configuration of an experiment."""

from __future__ import annotations

from betterhalf.records._base import Record


class Arm(Record, frozen=True, kw_only=True):
    """A policy, the backend it runs on and the options that come with it.

    Attributes:
        name: how the user and the report call it, such as `mixed_float16@torch+raw`;
            `float32#2` is the reference run again as an A/A control.
        slug: `name` in a form that is safe in a file name.
        policy: a Keras dtype policy, such as `mixed_bfloat16`.
        backend: `tensorflow`, `jax` or `torch`; never left open in a plan.
        raw: the bare policy line, nothing repaired.
        is_reference: the arm that others of the same backend and options are judged
            against.
        control: 1, or the number behind `#` of a reference that runs again.
    """

    name: str
    slug: str
    policy: str
    backend: str
    raw: bool = False
    is_reference: bool = False
    control: int = 1
