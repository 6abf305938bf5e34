"""What `enable` chose."""

from __future__ import annotations

from betterhalf.records._base import Record


class Choice(Record, frozen=True, kw_only=True):
    """The policy in force, and why.

    Attributes:
        policy: the global policy.
        backend: of Keras.
        device: name of the device that it was chosen for.
        reason: one clause.
    """

    policy: str
    backend: str
    device: str
    reason: str
