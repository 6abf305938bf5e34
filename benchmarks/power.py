"""How often the rules of a verdict decide: the tables of `docs/verdict.md`.

Each cell simulates experiments whose truth is known and lets the shipped rule judge
them, so a change of the rule changes the table. `./dev bench power`, under a minute.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence

from betterhalf.statistics.looks import FIRST, NOMINAL, SECOND, nominal_level
from betterhalf.statistics.power import (
    simulate_accuracy,
    simulate_error,
    simulate_speed,
    trials_to_decide,
)
from betterhalf.statistics.proportions import upper_bound


RATIOS = (0.9, 1.0, 1.02, 1.1, 1.3, 1.6)
SPREADS = (0.01, 0.02, 0.04, 0.09)
SPREADS_PER_MARGIN = (0.2, 0.4, 0.67, 1.0, 1.5)
TWO_LOOKS = (FIRST, SECOND)


def tabulate(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Returns a Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def tabulate_speed(looks: tuple[int, ...], draws: int) -> str:
    """Returns how often an arm passes on speed, and how often it is reverted."""
    heads = ["spread of a trial", *[f"truly {ratio} times" for ratio in RATIOS]]
    rows: list[list[str]] = []
    for spread in SPREADS:
        found = [simulate_speed(ratio, spread, looks, draws=draws) for ratio in RATIOS]
        cells = [f"{_share(f.passed)} / {_share(f.failed)}" for f in found]
        rows.append([f"{spread:.0%}", *cells])
    return tabulate(heads, rows)


def tabulate_accuracy(looks: tuple[int, ...], draws: int) -> str:
    """Returns how often an arm passes as not worse, and how often it is reverted."""
    heads = [
        "spread / margin", "no difference", "no difference, 2 candidates",
        "worse by 1 margin", "worse by 2 margins",
    ]  # fmt: skip
    cases = ((0.0, 1), (0.0, 2), (-1.0, 1), (-2.0, 1))
    rows: list[list[str]] = []
    for spread in SPREADS_PER_MARGIN:
        cells: list[str] = []
        for difference, candidates in cases:
            found = simulate_accuracy(
                difference, spread, looks, candidates=candidates, draws=draws
            )
            cells.append(f"{_share(found.passed)} / {_share(found.failed)}")
        rows.append([f"{spread}", *cells])
    return tabulate(heads, rows)


def tabulate_trials() -> str:
    """Returns about how many trials an arm decide in four of five experiments."""
    distances = (0.02, 0.05, 0.1, 0.2)
    heads = [
        "spread of a trial",
        *[f"{distance:.0%} from the limit" for distance in distances],
    ]
    rows = [
        [f"{spread:.0%}", *[_count(distance, spread) for distance in distances]]
        for spread in SPREADS
    ]
    return tabulate(heads, rows)


def tabulate_errors(draws: int) -> str:
    """Returns how often two looks pass what is exactly at the limit."""
    heads = ["level at each look", "equal spreads", "one arm with twice", "five times"]
    rows = [
        [
            f"{level:.4g}",
            *[
                f"{simulate_error(level, spreads=(1.0, other), draws=draws):.3f}"
                for other in (1.0, 2.0, 5.0)
            ],
        ]
        for level in (NOMINAL, nominal_level(0.025, TWO_LOOKS))
    ]
    return tabulate(heads, rows)


def main() -> None:
    """Prints every table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=40_000)
    draws = parser.parse_args().draws
    print(f"{draws:,} simulated experiments a cell, seed 0.\n")
    print("Speed, one look at 3 trials an arm: passed / reverted, in percent\n")
    print(tabulate_speed((FIRST,), draws))
    print("\nSpeed, looks at 3 and 10 trials: passed / reverted, in percent\n")
    print(tabulate_speed(TWO_LOOKS, draws))
    print("\nAbout how many trials an arm decide on speed\n")
    print(tabulate_trials())
    print("\nAccuracy, one look at 3 trials: not worse / reverted, in percent\n")
    print(tabulate_accuracy((FIRST,), draws))
    print("\nAccuracy, looks at 3 and 10 trials: not worse / reverted, in percent\n")
    print(tabulate_accuracy(TWO_LOOKS, draws))
    print("\nHow often what is exactly at a limit passes it at one of two looks\n")
    print(tabulate_errors(5 * draws))
    bounds = ", ".join(
        f"0 of {trials}: {100 * upper_bound(0, trials):.0f} %" for trials in (3, 5, 10)
    )
    print(f"\nRates of divergence that stay possible (95 %): {bounds}")


def _share(share: float) -> str:
    percent = 100 * share
    return f"{percent:.0f}" if percent >= 10 or percent == 0 else f"{percent:.1f}"


def _count(distance: float, spread: float) -> str:
    trials = trials_to_decide(distance, spread, spread, 0.025)
    return "more than 100" if trials is None else f"{trials}"


if __name__ == "__main__":
    main()
