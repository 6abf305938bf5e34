"""What the parent tells the child, in a file that an environment variable names."""

from __future__ import annotations

from typing import Literal

from betterhalf.records._base import Record


INSTRUCTIONS_VARIABLE = "BETTERHALF_INSTRUCTIONS"
"""Environment variable with the path of the instructions of this trial."""

PARENT_VARIABLE = "BETTERHALF_PARENT"
"""Environment variable with the process id of the experiment: a trial ends with it."""


class AuditRequest(Record, frozen=True, kw_only=True):
    """What an audit is asked for, in place of a trial.

    Attributes:
        target: as the user gave it: what the audit calls itself.
        kind: a script, a saved file, or a factory that returns a model.
        source: path of the script, of the file, or of the module of the factory.
        name: of the factory in its module.
        policy: kept in force; absent to leave the script's own.
        select: rules that run; empty for all.
        ignore: findings that do not count, each with the reason.
        result: path that the audit is written to.
    """

    target: str
    kind: Literal["script", "file", "factory"]
    source: str
    result: str
    name: str = ""
    policy: str | None = None
    select: tuple[str, ...] = ()
    ignore: dict[str, str] = {}


class Instructions(Record, frozen=True, kw_only=True):
    """How one trial is to run and where it reports.

    Attributes:
        policy: the policy that the arm asks for.
        backend: the backend that is re-asserted before keras reads it; absent to leave
            the script's own choice.
        raw: nothing is repaired.
        block: from 0; in block 0 the script's seeds stay.
        keep_seeds: the script's seeds stay in every block.
        short: each training ends as soon as its steady window is full.
        steady_seconds: the least steady time of a short training.
        steady_steps: the least steady steps of a short training.
        judged: ordinal of the training that is judged, where a trial before has shown
            it; a short trial ends the process after it.
        epochs: cap of every `fit`.
        steps: cap of every training, in steps.
        audit: this is no trial: the model is audited before its first step.
        events: path of the file to append events to.
        folder: the trial's own folder, for files that the script saves through Keras.
    """

    policy: str
    backend: str | None
    events: str
    folder: str
    raw: bool = False
    block: int = 0
    keep_seeds: bool = False
    short: bool = False
    steady_seconds: float = 4.0
    steady_steps: int = 30
    judged: int | None = None
    epochs: int | None = None
    steps: int | None = None
    audit: AuditRequest | None = None
