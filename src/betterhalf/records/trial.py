"""One arm, one seed, one process."""

from __future__ import annotations

from typing import Literal

from betterhalf.records._base import Record
from betterhalf.records.environment import Environment
from betterhalf.records.timeline import Timeline
from betterhalf.records.training import Checks, Evaluation, Memory, Training


Outcome = Literal[
    "finished", "diverged", "out-of-memory", "crashed", "timed-out", "interrupted"
]
"""How a trial ended; a way that is not `finished` is an outcome, not an error."""


class Repair(Record, frozen=True, kw_only=True):
    """One thing that an arm put right.

    Attributes:
        code: which repair, such as `float32-output`.
        where: path of the layer, or name of the optimizer.
        before: what it was, such as `mixed_float16`.
        after: what it became, such as `float32`.
        reason: one clause that says why.
    """

    code: str
    where: str
    before: str
    after: str
    reason: str


class Note(Record, frozen=True, kw_only=True):
    """Something the child saw that a reader should know.

    Attributes:
        code: such as `policy-overridden`, `backend-overridden`, `seed-replaced`,
            `gradients-not-scaled`.
        text: one sentence with the numbers or names that prove it.
        todo: what to do about it, such as the line to add; absent if nothing.
    """

    code: str
    text: str
    todo: str | None = None


class Failure(Record, frozen=True, kw_only=True):
    """Why a trial did not finish.

    Attributes:
        kind: class of the exception, name of the signal, or `exit`.
        message: first line of what the exception says, or what the tool saw.
        traceback: the script's own, as Python would show it; absent for a signal.
    """

    kind: str
    message: str
    traceback: str | None = None


class Trial(Record, frozen=True, kw_only=True):
    """What one process left behind.

    Attributes:
        arm: name of the arm.
        number: from 1, the block it belongs to; in file names too.
        stage: 1 for a short trial, 2 for a full training.
        outcome: how it ended.
        exit_code: of the process; negative for a signal, as `subprocess` has it.
        seconds: wall time of the process.
        environment: versions and devices as the child saw them.
        trainings: all of them, in order.
        judged: ordinal of the one that is judged, the longest; absent without any.
        evaluations: those that the script called itself.
        checks: of the judged training.
        memory: of the judged training.
        repairs: what was put right.
        notes: what was overridden or seen.
        timeline: the machine beside the run.
        failure: absent if it finished.
        log_tail: last lines of its output, paths shortened.
        files_shared: files of the working directory that changed meanwhile, relative.
        script_hash: SHA-256 of the script as it ran.
    """

    arm: str
    number: int
    stage: int
    outcome: Outcome
    exit_code: int | None
    seconds: float
    environment: Environment | None = None
    trainings: tuple[Training, ...] = ()
    judged: int | None = None
    evaluations: tuple[Evaluation, ...] = ()
    checks: Checks | None = None
    memory: Memory | None = None
    repairs: tuple[Repair, ...] = ()
    notes: tuple[Note, ...] = ()
    timeline: Timeline | None = None
    failure: Failure | None = None
    log_tail: str = ""
    files_shared: tuple[str, ...] = ()
    script_hash: str | None = None

    @property
    def judged_training(self) -> Training | None:
        """The training that is judged, or `None` if the script never trained."""
        return None if self.judged is None else self.trainings[self.judged]
