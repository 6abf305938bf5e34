"""The tables of resampled noise and of planted effects, each with the bars it met."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

import numpy as np
from power import tabulate

from calibration.noise import Noise, Pair, list_metrics, pair_up
from calibration.resampling import SPREAD, Cell, Tally, judge_whole, run


GATE, WORTH_IT = 1.02, 1.05
"""The limits that a false KEEP and a false REVERT on speed are measured at."""
RATIOS = (0.9, 1.0, 1.1, 1.3, 1.6)
LOSSES = (0.0, 1.0, 2.0)
CLEAR_RATIO, CLEAR_LOSS = 1.6, 2.0
"""Effects that have to be decided in `MOST` of the experiments."""
MOST = 18 / 20
COVERAGE = (0.93, 0.97)
SPEED_ERROR, ACCURACY_ERROR = 0.025, 0.05
"""Nominal one-sided errors over all looks."""
KEPT = ("keep", "speed-only")


class Bench:
    """Runs cells, each with a seed of its own, and collects the bars that were missed.

    Args:
        noise: what is resampled.
        draws: experiments a cell.
    """

    def __init__(self, noise: Noise, draws: int) -> None:
        self.noise = noise
        self.draws = draws
        self.missed: list[str] = []
        self._seeds = count()

    def run(self, pair: Pair, cell: Cell) -> Tally:
        """Returns the tally of one cell."""
        return run(pair, cell, self.draws, next(self._seeds))

    def require(self, met: bool, what: str) -> None:
        """Remembers a bar that was missed."""
        if not met:
            self.missed.append(what)


def tabulate_coverage(bench: Bench) -> str:
    """Returns how often intervals hold the truth, and how often a limit is passed."""
    heads = [
        *("backend", "arm", "spread, float32 and arm", "real experiments held"),
        *("--quick: coverage", f"passed at {GATE}", f"reverted at {WORTH_IT}"),
        *("two looks: coverage", f"KEEP at {GATE}", f"reverted at {WORTH_IT}"),
    ]
    rows = []
    for pair in pair_up(bench.noise):
        held, of = judge_whole(pair)
        cells = [
            bench.run(pair, Cell(ratio, full=full))
            for full in (False, True)
            for ratio in (GATE, WORTH_IT)
        ]
        for tally, looks in zip(cells[::2], ("--quick", "two looks"), strict=True):
            _check_limit(bench, f"{pair.backend} {pair.arm}, {looks}", tally)
        coverages = [cells[0] + cells[1], cells[2] + cells[3]]
        for tally, looks in zip(coverages, ("--quick", "two looks"), strict=True):
            low, high = COVERAGE
            bench.require(
                low <= tally.coverage <= high,
                f"{pair.backend} {pair.arm}, {looks}: coverage {tally.coverage:.1%}",
            )
        spreads = " / ".join(f"{spread:.1%}" for spread in pair.spreads)
        figures = [
            figure
            for place in (0, 1)
            for figure in (
                coverages[place].coverage,
                cells[2 * place].share(*KEPT),
                cells[2 * place + 1].share("revert: speed"),
            )
        ]
        rows.append(
            [
                *(pair.backend, pair.arm, spreads, f"{held} of {of}"),
                *[f"{100 * figure:.1f} %" for figure in figures],
            ]
        )
    return tabulate(heads, rows)


def tabulate_margin(bench: Bench) -> str:
    """Returns how often an arm that loses exactly one margin is kept, or reverted."""
    heads = ["backend", "arm", "spread of the metric", "KEEP", "REVERT on accuracy"]
    rows = []
    for pair, metrics, said in _with_metrics(bench.noise):
        tally = bench.run(pair, Cell(CLEAR_RATIO, full=True, loss=1.0, metrics=metrics))
        name = f"{pair.backend} {pair.arm}, spread {said}"
        kept, reverted = tally.share(*KEPT), tally.share("revert: accuracy")
        bench.require(
            kept <= _most(ACCURACY_ERROR, tally),
            f"{name}: KEEP at the margin {kept:.1%}",
        )
        rows.append([pair.backend, pair.arm, said, _percent(kept), _percent(reverted)])
    return tabulate(heads, rows)


def tabulate_speeds(bench: Bench, *, full: bool) -> str:
    """Returns how often planted speed-ups are decided, rightly and wrongly."""
    heads = ["backend", "arm", *[f"truly {ratio} times" for ratio in RATIOS]]
    rows = []
    for pair in pair_up(bench.noise):
        cells = []
        for ratio in RATIOS:
            tally = bench.run(pair, Cell(ratio, full=full))
            right, wrong = (
                (tally.share(*KEPT), tally.share("revert: speed"))
                if ratio >= WORTH_IT
                else (tally.share("revert: speed"), tally.share(*KEPT))
            )
            cells.append(f"{_percent(right)} / {_percent(wrong)}")
            bench.require(
                ratio != CLEAR_RATIO or right >= MOST,
                f"{pair.backend} {pair.arm}: {ratio} times decided {right:.1%}",
            )
        rows.append([pair.backend, pair.arm, *cells])
    return tabulate(heads, rows)


def tabulate_losses(bench: Bench) -> str:
    """Returns how often planted losses of accuracy are kept, and reverted for it."""
    heads = [
        *("backend", "arm", "spread of the metric"),
        *[f"{loss:.0f} margins worse" for loss in LOSSES],
    ]
    rows = []
    for pair, metrics, said in _with_metrics(bench.noise):
        cells = []
        for loss in LOSSES:
            cell = Cell(CLEAR_RATIO, full=True, loss=loss, metrics=metrics)
            tally = bench.run(pair, cell)
            kept, reverted = tally.share(*KEPT), tally.share("revert: accuracy")
            cells.append(f"{_percent(kept)} / {_percent(reverted)}")
            bench.require(
                loss != CLEAR_LOSS or reverted >= MOST,
                f"{pair.backend} {pair.arm}, spread {said}: a loss of {loss:.0f} "
                f"margins decided {reverted:.1%}",
            )
        rows.append([pair.backend, pair.arm, said, *cells])
    return tabulate(heads, rows)


def _with_metrics(noise: Noise) -> Iterator[tuple[Pair, np.ndarray | None, str]]:
    """Every pair with normal spread of the metric, and with the recorded if any."""
    for pair in pair_up(noise):
        yield pair, None, f"normal, {SPREAD} margins"
        metrics = list_metrics(noise, pair.backend)
        if metrics is not None:
            spread = float(np.sqrt((metrics**2).mean()))
            yield pair, metrics, f"recorded, {spread:.1f} margins"


def _check_limit(bench: Bench, name: str, tally: Tally) -> None:
    passed = tally.share(*KEPT)
    bench.require(
        passed <= _most(SPEED_ERROR, tally), f"{name}: passed at {GATE} {passed:.1%}"
    )


def _most(nominal: float, tally: Tally) -> float:
    """The nominal error and two standard errors of its simulation."""
    return nominal + 2 * (nominal * (1 - nominal) / tally.draws) ** 0.5


def _percent(share: float) -> str:
    percent = 100 * share
    return f"{percent:.0f}" if percent >= 10 or percent == 0 else f"{percent:.1f}"


def say_missed(missed: Sequence[str]) -> str:
    """Returns which bars were missed, or that none was."""
    if not missed:
        return "Every bar is met."
    return "\n".join(["Missed:", *[f"- {what}" for what in missed]])
