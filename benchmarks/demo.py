"""The demo, several times a backend: does it say the same each time?

For each repeat the ratio is computed again from the raw windows in `trials/`, and must
equal the one in `result.json`.

    ./dev bench demo [--repeats 10] [--backends tensorflow,jax,torch] [--keep DIR]

`--keep` leaves the run stores in a folder; those that it already holds count, so that
an interrupted benchmark goes on where it was. The backends take turns.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path


SCRIPT = Path(__file__).parent.parent / "examples" / "digits_cnn.py"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--backends", default="tensorflow,jax,torch")
    parser.add_argument("--keep", type=Path)
    chosen = parser.parse_args()
    backends = chosen.backends.split(",")
    with tempfile.TemporaryDirectory() as temporary:
        folder = (chosen.keep or Path(temporary)).absolute()
        for repeat in range(chosen.repeats):
            for backend in backends:
                run_demo(backend, folder / f"{backend}-{repeat}")
        for backend in backends:
            stores = [folder / f"{backend}-{each}" for each in range(chosen.repeats)]
            summarise_backend(backend, stores)
    return 0


def run_demo(backend: str, store: Path) -> None:
    """Runs `compare --quick` once, unless the store has its result already."""
    if (store / "result.json").exists():
        return
    store.parent.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    subprocess.run(
        [
            *(sys.executable, "-m", "betterhalf", "compare", "--quick"),
            *("--backend", backend, "--out", str(store), str(SCRIPT)),
        ],
        cwd=store.parent,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"},
        capture_output=True,
        check=False,
    )
    print(f"{store.name}: {time.monotonic() - began:.0f} s", flush=True)


def summarise_backend(backend: str, stores: list[Path]) -> None:
    found: dict[str, list[dict]] = {}
    for store in stores:
        for arm in read_arms(store):
            found.setdefault(arm["arm"], []).append(arm)
    print(f"{backend}: {len(stores)} repeats")
    for name, arms in found.items():
        print(f"  {name:15} {summarise(arms)}", flush=True)


def read_arms(store: Path) -> list[dict]:
    """The arms beside the reference, each ratio computed again from the windows."""
    arms = json.loads((store / "result.json").read_text())["data"]["arms"]
    for arm in arms[1:]:
        again = recompute(store, arm["reference"], arm["arm"])
        if not math.isclose(again, arm["speedup"]["estimate"], rel_tol=1e-9):
            raise SystemExit(f"{arm['arm']}: {again} is not {arm['speedup']}")
    return arms[1:]


def recompute(store: Path, reference: str, arm: str) -> float:
    """The ratio of geometric means of time per step, from the raw windows alone."""
    means = []
    for name in (reference, arm):
        logs = []
        for path in sorted((store / "trials").glob(f"{name}-?.json")):
            trial = json.loads(path.read_text())["data"]
            windows = trial["trainings"][trial["judged"]]["windows"]
            steady = [window for window in windows if window["steady"]]
            seconds = sum(window["seconds"] for window in steady)
            logs.append(math.log(seconds / sum(window["steps"] for window in steady)))
        means.append(sum(logs) / len(logs))
    return math.exp(means[0] - means[1])


def summarise(arms: list[dict]) -> str:
    ratios = sorted(arm["speedup"]["estimate"] for arm in arms)
    widths = sorted(
        (arm["speedup"]["high"] / arm["speedup"]["low"]) ** 0.5 - 1 for arm in arms
    )
    verdicts = Counter(arm["verdict"] for arm in arms)
    middle = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return (
        f"{middle:.3f} times as fast ({ratios[0]:.3f} … {ratios[-1]:.3f}), "
        f"median half-width {100 * widths[len(widths) // 2]:.0f} %, "
        + ", ".join(f"{count} {word}" for word, count in verdicts.most_common())
    )


if __name__ == "__main__":
    sys.exit(main())
