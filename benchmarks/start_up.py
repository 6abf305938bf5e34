"""How long `betterhalf --help` takes beyond a bare interpreter: at most 60 ms.

Both are started by turns, so that drift of the machine charges both alike, and pairs
are compared. The interval is that of a median by the binomial test, which supposes
nothing about the shape of the noise. `./dev bench start_up`, under ten seconds.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from statistics import median

from scipy.stats import quantile_test


BAR_SECONDS = 0.060
"""With an interpreter of up to 40 ms it stays below the 100 ms up to which a response
feels immediate (Miller 1968, doi 10.1145/1476589.1476628)."""

LEAST_PAIRS = 15
HELP = "import sys; from betterhalf.cli import main; sys.exit(main(['--help']))"
BARE = "pass"


def measure(program: str) -> float:
    """Returns the seconds from starting an interpreter on `program` to its end."""
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", program], check=True, stdout=subprocess.DEVNULL
    )
    return time.perf_counter() - began


def measure_pairs(count: int) -> list[tuple[float, float]]:
    """Returns the seconds of both, by turns; which is first alternates too."""
    pairs = []
    for place in range(count):
        if place % 2:
            bare = measure(BARE)
            pairs.append((measure(HELP), bare))
        else:
            pairs.append((measure(HELP), measure(BARE)))
    return pairs


def median_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Returns the median with its 95 % interval."""
    ends = quantile_test(values, q=0, p=0.5).confidence_interval(0.95)
    return median(values), float(ends.low), float(ends.high)


def main() -> int:
    """Measures, prints, and returns 1 where the bar is not met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=25)
    pairs = max(parser.parse_args().pairs, LEAST_PAIRS)
    measure(HELP)  # writes byte code that later ones read
    measured = measure_pairs(pairs)
    middle, low, high = median_interval([one - bare for one, bare in measured])
    bare = median(bare for _, bare in measured)
    print(f"bare interpreter    {1000 * bare:.1f} ms (median of {pairs})")
    print(
        f"betterhalf --help   {1000 * middle:+.1f} ms "
        f"[{1000 * low:.1f} … {1000 * high:.1f}], 95 % interval of the median"
    )
    met = high <= BAR_SECONDS
    print(
        f"bar                 {1000 * BAR_SECONDS:.0f} ms, {'met' if met else 'MISSED'}"
    )
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
