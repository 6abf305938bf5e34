"""How well calibrated verdicts are on real noise: "Calibration" in `docs/verdict.md`.

    ./dev bench verdict noise DIR...        what equal processes leave: noise.json
    ./dev bench verdict resample            coverage of intervals, errors at limits
    ./dev bench verdict planted             how often planted effects are decided
    ./dev bench verdict controls --keep DIR real A/A experiments
    ./dev bench verdict quick --keep DIR    cost and truth of --quick

`noise` reads run stores, such as those of `./dev bench demo --keep DIR`; `resample` and
`planted` read `benchmarks/noise.json`, need no Keras and take minutes. `controls` and
`quick` train for hours, and go on where they were interrupted. A missed bar gives
exit code 1.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path


# one thread: rows of three numbers are summed here, and others may be measuring
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

NOISE = Path(__file__).with_name("noise.json")
BACKENDS = "tensorflow,jax,torch"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = parser.add_subparsers(dest="part", required=True)
    noise = parts.add_parser("noise")
    noise.add_argument("stores", type=Path, nargs="+", help="run stores, or folders of")
    for name, draws in (("resample", 1000), ("planted", 500)):
        part = parts.add_parser(name)
        part.add_argument("--draws", type=int, default=draws, help="experiments a cell")
    for name, backends in (("controls", BACKENDS), ("quick", "tensorflow,torch")):
        part = parts.add_parser(name)
        part.add_argument("--keep", type=Path, required=True, help="folder of stores")
        part.add_argument("--repeats", type=int, default=20)
        part.add_argument("--backends", default=backends)
        if name == "controls":
            part.add_argument("--max-runs", type=int, default=10, help="second look")
    chosen = parser.parse_args()
    began = time.monotonic()
    code = _PARTS[chosen.part](chosen)
    print(f"\n{time.monotonic() - began:.0f} s")
    return code


def record_noise(chosen: argparse.Namespace) -> int:
    from calibration import noise
    from power import tabulate

    stores = [plan.parent for each in chosen.stores for plan in _find_plans(each)]
    recorded = noise.record(stores)
    noise.write(recorded, NOISE)
    heads = ["backend", "arm", "processes", "spread", "furthest"]
    print(tabulate([*heads, "between experiments"], noise.summarise(recorded)))
    return 0


def resample(chosen: argparse.Namespace) -> int:
    from calibration import tables

    bench = _open_bench(chosen.draws)
    print("Speed\n\n" + tables.tabulate_coverage(bench))
    print("\nAccuracy, exactly one margin worse\n\n" + tables.tabulate_margin(bench))
    return _close(bench)


def plant(chosen: argparse.Namespace) -> int:
    from calibration import tables

    bench = _open_bench(chosen.draws)
    print("--quick: decided rightly / wrongly, in percent\n")
    print(tables.tabulate_speeds(bench, full=False))
    print("\nLooks at 3 and 10 trials: decided rightly / wrongly, in percent\n")
    print(tables.tabulate_speeds(bench, full=True))
    print("\nTruly 1.6 times as fast: KEEP / REVERT on accuracy, in percent\n")
    print(tables.tabulate_losses(bench))
    return _close(bench)


def control(chosen: argparse.Namespace) -> int:
    from calibration.controls import run_controls

    return run_controls(
        chosen.keep.absolute(),
        chosen.repeats,
        chosen.backends.split(","),
        chosen.max_runs,
    )


def quicken(chosen: argparse.Namespace) -> int:
    from calibration.quick import run_quick

    return run_quick(chosen.keep.absolute(), chosen.repeats, chosen.backends.split(","))


def _find_plans(folder: Path) -> list[Path]:
    own = folder / "plan.json"
    return [own] if own.exists() else sorted(folder.glob("*/plan.json"))


def _open_bench(draws: int):
    from calibration import noise, tables

    recorded = noise.load(NOISE)
    print(f"{draws:,} experiments a cell, resampled from {NOISE.name}.\n")
    return tables.Bench(recorded, draws)


def _close(bench) -> int:
    from calibration.tables import say_missed

    print("\n" + say_missed(bench.missed))
    return 1 if bench.missed else 0


_PARTS = {
    "noise": record_noise,
    "resample": resample,
    "planted": plant,
    "controls": control,
    "quick": quicken,
}


if __name__ == "__main__":
    sys.exit(main())
