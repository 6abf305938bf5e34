"""Draws experiments from real noise and lets the shipped `judge` decide on them.

What is drawn is a *block*: a process of the reference and one of the judged arm that
ran next to each other, with the residuals that they really had. A drift of the machine
or a disturbance that hit both therefore stays in both, an outlier stays where it was,
and two arms that spread differently do so here. Each block of a synthetic experiment is
drawn with replacement from all real blocks of that backend and arm: to draw several
from one real experiment would repeat the same values, and three of them hold too little
of the spread. What mixing loses is the order inside a real experiment; `judge_whole`
therefore judges the real experiments as they are.

The windows of a synthetic trial are those of the real process, scaled: seconds of a
step are STEP / ratio * exp(residual).
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from betterhalf.judging import judge
from betterhalf.judging.metric import POINTS
from betterhalf.records.plan import Plan
from betterhalf.records.result import ArmResult
from betterhalf.records.trial import Trial
from calibration.noise import Pair
from calibration.synthetic import (
    JUDGED,
    REFERENCE,
    Figures,
    make_full,
    make_plan,
    make_short,
)


STEP = 0.02
"""Seconds of a step of the reference; no rule looks at it."""
ACCURACY = 0.9
SPREAD = 0.4
"""Spread of the metric between trials, in margins, where none was recorded."""


@dataclass(frozen=True)
class Cell:
    """A truth to be found, and the kind of experiment that looks for it.

    Attributes:
        ratio: how many times as fast the arm truly is.
        full: with full trainings and two looks; else `--quick`.
        loss: how much less accurate the arm truly is, in margins.
        metrics: residuals of the metric in margins; normal with `SPREAD` if absent.
    """

    ratio: float
    full: bool = False
    loss: float = 0.0
    metrics: np.ndarray | None = None

    @cached_property
    def plan(self) -> Plan:
        """Returns the plan of its experiments."""
        return make_plan(full=self.full)


@dataclass
class Tally:
    """How the experiments of a cell ended.

    Attributes:
        draws: experiments.
        verdicts: how often each word fell; `revert` is split by its reason.
        covered: how often the printed interval of the speed-up held the true ratio.
    """

    draws: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    covered: int = 0

    def add(self, arm: ArmResult, ratio: float) -> None:
        """Counts one experiment."""
        assert arm.speedup is not None
        self.draws += 1
        self.covered += arm.speedup.low <= ratio <= arm.speedup.high
        self.verdicts[name_end(arm)] += 1

    def share(self, *words: str) -> float:
        """Returns the share of the experiments that ended with one of `words`."""
        return sum(self.verdicts[word] for word in words) / self.draws

    @property
    def coverage(self) -> float:
        """The share of intervals that held the truth."""
        return self.covered / self.draws

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.draws + other.draws,
            self.verdicts + other.verdicts,
            self.covered + other.covered,
        )


def name_end(arm: ArmResult) -> str:
    """Returns the verdict of `arm`, a `revert` with its reason: speed or accuracy."""
    if arm.verdict != "revert":
        return arm.verdict
    if arm.trials.diverged:
        return "revert: diverged"
    worse = arm.metric is not None and arm.metric.outcome == "worse"
    return "revert: accuracy" if worse else "revert: speed"


def run(pair: Pair, cell: Cell, draws: int, seed: int) -> Tally:
    """Returns what `judge` says of `draws` experiments that are drawn from `pair`."""
    random = np.random.default_rng(seed)
    tally = Tally()
    for _ in range(draws):
        trials = draw_trials(pair, cell, random)
        tally.add(judge(cell.plan, trials).arms[1], cell.ratio)
    return tally


def judge_whole(pair: Pair) -> tuple[int, int]:
    """Returns in how many real experiments the interval held the ratio of the others.

    Returns:
        That number, and the number of experiments.
    """
    logs = np.log([[p.step_seconds for p in block] for block in pair.processes])
    ratios = logs[:, 0] - logs[:, 1]
    plan, held = make_plan(full=False), 0
    numbers = np.unique(pair.experiments)
    for each in numbers:
        own = pair.experiments == each
        trials = [
            make_short(arm, number, Figures(process.step_seconds, process.shape))
            for number, block in enumerate(np.flatnonzero(own), start=1)
            for arm, process in zip(
                (REFERENCE, JUDGED), pair.processes[block], strict=True
            )
        ]
        speedup = judge(plan, trials).arms[1].speedup
        assert speedup is not None
        held += speedup.low <= math.exp(ratios[~own].mean()) <= speedup.high
    return held, len(numbers)


def draw_trials(pair: Pair, cell: Cell, random: np.random.Generator) -> list[Trial]:
    """Returns the trials of one experiment, those of a second look included."""
    looks = cell.plan.limits.looks
    trials: list[Trial] = []
    for stage, blocks in ((1, looks[0]), (2, looks[-1] if cell.full else 0)):
        make = make_full if stage == 2 else make_short
        drawn = random.integers(len(pair.processes), size=blocks)
        seconds = STEP * np.exp(pair.residuals[drawn]) / np.array([1.0, cell.ratio])
        accuracies = _draw_accuracies(cell, blocks, random)
        trials += [
            make(
                arm,
                number + 1,
                Figures(
                    float(seconds[number, place]),
                    pair.shapes[block][place],
                    float(accuracies[number, place]),
                ),
            )
            for number, block in enumerate(drawn)
            for place, arm in enumerate((REFERENCE, JUDGED))
        ]
    return trials


def _draw_accuracies(
    cell: Cell, blocks: int, random: np.random.Generator
) -> np.ndarray:
    size = (blocks, 2)
    if cell.metrics is None:
        margins = SPREAD * random.standard_normal(size)
    else:
        margins = random.choice(cell.metrics, size=size)
    return ACCURACY + POINTS * (margins - np.array([0.0, cell.loss]))
