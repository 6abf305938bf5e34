"""What `--quick` costs and whether it tells the ratio of full trainings.

Each repeat is `compare --quick` on `examples/cifar10_cnn.py` with random pictures of
CIFAR-10's shape, so 45,000 training samples after the split, in batches of 128. The
reference that its interval has to contain is measured with Keras alone: a process
trains whole epochs (352 steps, validation included) under one policy, and its epochs
after the first count. After every `EVERY` repeats one such process of each policy runs,
in alternating order, so that a drift of the machine is in the reference as well. The
ratio of full trainings is that of the geometric means over all of these processes; its
own standard error is printed.

The time is that of all children of `--quick`, from their start to their end, against
one plain float32 training of 50 epochs: the time of a steady epoch, 50 times, nothing
added for start-up.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, median, variance

from power import tabulate

from betterhalf.trials.reading import Experiment
from calibration.comparing import SCRIPTS, compare, find_speedup, run_python


SCRIPT = SCRIPTS / "cifar10_synthetic.py"
PLAIN = SCRIPTS / "cifar10_epochs.py"
POLICIES = ("float32", "mixed_bfloat16")
EVERY = 2
"""Repeats for each pair of reference processes."""
EPOCHS = 50
"""Of the plain training that `--quick` is compared with."""
COST = 0.1
CONTAINED = 18 / 20
HALF_WIDTHS = {"tensorflow": 0.05, "torch": 0.1}
"""Bars: the share of that training, of intervals that hold, and half of their width."""


def run_quick(
    folder: Path, repeats: int, backends: Sequence[str], epochs: int = 2
) -> int:
    """Runs `repeats` on each backend; 1 if a bar is missed."""
    found: dict[str, list[Experiment]] = {name: [] for name in backends}
    times: dict[str, list[dict[str, float]]] = {name: [] for name in backends}
    for repeat in range(repeats):
        for name in backends:
            store = folder / f"{name}-{repeat}"
            options = ("--quick", "--backend", name, "--arms", POLICIES[1])
            found[name].append(compare(store, SCRIPT, *options))
            if repeat % EVERY == 0:
                times[name].append(_time_epochs(folder, name, repeat, epochs))
            print(_say(store.name, found[name][-1], times[name][-1]), flush=True)
    rows, missed = [], []
    for name in backends:
        cells, failed = summarise(name, found[name], times[name])
        rows.append([name, *cells])
        missed += [f"{name}: {what}" for what in failed]
    heads = [
        *("backend", "ratio of full epochs", "intervals with it", "half-width"),
        *("children", "float32 epoch", "of 50 epochs"),
    ]
    print(tabulate(heads, rows))
    print("\n" + ("Every bar is met." if not missed else "\n".join(missed)))
    return 1 if missed else 0


def summarise(
    backend: str,
    experiments: Sequence[Experiment],
    times: Sequence[dict[str, float]],
) -> tuple[list[str], list[str]]:
    """Returns the cells of a backend's row, and the bars that it missed."""
    logs = {p: [math.log(each[p]) for each in times] for p in POLICIES}
    ratio = math.exp(fmean(logs[POLICIES[0]]) - fmean(logs[POLICIES[1]]))
    error = (
        math.sqrt(sum(variance(each) / len(each) for each in logs.values()))
        if len(times) > 1
        else math.nan
    )
    speedups = [find_speedup(each) for each in experiments]
    held = sum(each.low <= ratio <= each.high for each in speedups)
    width = median(math.sqrt(each.high / each.low) - 1 for each in speedups)
    children = median(_child_seconds(each) for each in experiments)
    epoch = math.exp(fmean(logs[POLICIES[0]]))
    cost = children / (EPOCHS * epoch)
    bars = {
        f"costs {cost:.1%} of a training": cost <= COST,
        f"{held} of {len(speedups)} intervals hold": held >= CONTAINED * len(speedups),
        f"half-width {width:.1%}": width <= HALF_WIDTHS.get(backend, math.inf),
    }
    cells = [
        *(f"{ratio:.3f} (standard error {error:.1%})", f"{held} of {len(speedups)}"),
        *(f"{width:.1%}", f"{children:.0f} s", f"{epoch:.1f} s", f"{cost:.1%}"),
    ]
    return cells, [what for what, met in bars.items() if not met]


def _time_epochs(
    folder: Path, backend: str, repeat: int, epochs: int
) -> dict[str, float]:
    """Seconds of a steady epoch under each policy, a process each; kept in a file."""
    kept = folder / f"{backend}-{repeat}.epochs.json"
    if kept.exists():
        return json.loads(kept.read_text())
    turn = repeat // EVERY % 2
    seconds = {}
    for policy in (POLICIES[turn], POLICIES[1 - turn]):
        arguments = [str(PLAIN), policy, str(epochs)]
        ended = run_python(arguments, folder, {"KERAS_BACKEND": backend})
        if ended.returncode:
            raise SystemExit(f"{backend}, {policy}: {ended.stderr[-2000:]}")
        seconds[policy] = fmean(json.loads(ended.stdout.splitlines()[-1])[1:])
    kept.write_text(json.dumps(seconds))
    return seconds


def _child_seconds(experiment: Experiment) -> float:
    return sum(trial.seconds for trial in experiment.trials)


def _say(name: str, experiment: Experiment, times: dict[str, float]) -> str:
    speedup = find_speedup(experiment)
    return (
        f"{name}, {speedup.estimate:.3f} [{speedup.low:.3f} … {speedup.high:.3f}], "
        f"children {_child_seconds(experiment):.0f} s, last full epochs "
        f"{times[POLICIES[0]]:.1f} s / {times[POLICIES[1]]:.1f} s"
    )
