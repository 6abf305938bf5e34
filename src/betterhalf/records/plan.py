"""What an experiment will do, written before its first trial."""

from __future__ import annotations

from typing import Literal

from betterhalf.records._base import Record
from betterhalf.records.arm import Arm


class Limits(Record, frozen=True, kw_only=True):
    """Every number that a verdict depends on, fixed before the data.

    Attributes:
        min_speedup: what "worth it" means (`--min-speedup`).
        gate: how far from 1 the interval of a speed-up must stay; 0.02, a quarter of
            the spread between processes that was measured on TensorFlow.
        memory_ratio: device memory at or below this share of the reference counts as
            saved.
        confidence: two-sided level of the intervals of speed.
        looks: trials per arm at which a decision may fall.
        look_level: nominal one-sided level of accuracy at each look.
        margin: what "equally accurate" means, in the metric's own unit; absent until it
            is found from the metric.
        steady_seconds: the least steady time of a short trial; twice the 2 s that a
            clock would need, because TensorFlow's input pipeline was seen to pause for
            0.3 to 0.6 s at the end of some epochs of 41 steps.
        steady_steps: the least steady steps of a short trial.
    """

    min_speedup: float = 1.05
    gate: float = 0.02
    memory_ratio: float = 0.9
    confidence: float = 0.95
    looks: tuple[int, ...] = (3, 10)
    look_level: float = 0.028
    margin: float | None = None
    steady_seconds: float = 4.0
    steady_steps: int = 30


class Slot(Record, frozen=True, kw_only=True):
    """One trial to come: the name of its arm, its block from 1 and its stage."""

    arm: str
    number: int
    stage: int = 1


class Plan(Record, frozen=True, kw_only=True):
    """An experiment, whole, before its first trial.

    Attributes:
        script: name of the script or module, without its folder.
        module: true for `-m package.module`.
        script_hash: SHA-256 of the script's bytes; a resumed experiment must match.
        arguments_hash: SHA-256 of the script's arguments, which are not kept.
        arms: references first.
        order: every trial in the order in which they run, interleaved and rotated.
        quick: stage 1 alone.
        epochs: cap of every `fit`, in epochs.
        steps: cap of every `fit`, in steps.
        metric: chosen by the user; absent if it is to be found.
        mode: `min` or `max`; absent if it is to be found.
        keep_seeds: trials keep the script's seeds in every block.
        analysis: how accuracy is compared.
        budget_seconds: wall-clock limit of the experiment.
        trial_timeout_seconds: wall-clock limit of one trial.
        limits: the numbers that decide.
        device: name of the first device; a resumed experiment must match.
        edits: for each arm, the edit of the script that would turn it on, as a unified
            diff; made before the first trial so that reports need no script.
    """

    script: str
    module: bool
    script_hash: str
    arguments_hash: str
    arms: tuple[Arm, ...]
    order: tuple[Slot, ...]
    quick: bool = False
    epochs: int | None = None
    steps: int | None = None
    metric: str | None = None
    mode: Literal["min", "max"] | None = None
    keep_seeds: bool = False
    analysis: Literal["unpaired", "blocked"] = "unpaired"
    budget_seconds: float | None = None
    trial_timeout_seconds: float | None = None
    limits: Limits = Limits()
    device: str | None = None
    edits: dict[str, str] = {}

    @property
    def speed_only(self) -> bool:
        """Whether no accuracy verdict can come of it."""
        return self.quick or self.epochs is not None or self.steps is not None
