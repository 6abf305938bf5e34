"""What processes that do the same leave of their times: the noise that is judged.

`record` reads run stores and keeps of each process the time of a step and its raw
windows, in the order in which they ran, so that drift and outliers stay. `pair_up`
turns that into residuals.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from betterhalf.judging.metric import find_margin
from betterhalf.judging.readings import choose_metric, read_value
from betterhalf.judging.samples import list_steady_windows, mean_step_seconds
from betterhalf.records.environment import Environment
from betterhalf.records.trial import Trial
from betterhalf.trials.reading import Experiment as Store
from betterhalf.trials.reading import read


LEAST_METRICS = 10
"""Fewest full trainings of a backend whose spread of the metric is used."""


class Process(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One trial: seconds of a step, its windows as (steps, seconds), its metric."""

    arm: str
    step_seconds: float
    windows: tuple[tuple[int, float], ...] = ()
    metric: float | None = None

    @property
    def shape(self) -> tuple[tuple[int, float], ...]:
        """Its windows as steps and seconds of a step relative to its mean."""
        return tuple(
            (steps, seconds / steps / self.step_seconds)
            for steps, seconds in self.windows
        )


class Experiment(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The whole blocks of one stage, each with its processes as they ran."""

    script: str
    backend: str
    stage: int
    reference: str
    blocks: tuple[tuple[Process, ...], ...]
    metric: str | None = None


class Noise(msgspec.Struct, frozen=True, kw_only=True):
    """All experiments in the order of time, and where they ran."""

    machine: dict[str, Any]
    experiments: tuple[Experiment, ...]


@dataclass(frozen=True)
class Pair:
    """A reference and one arm on one backend.

    Attributes:
        backend: of both.
        arm: name of the judged arm.
        residuals: of the logarithm of a step's time; (blocks, 2), the reference first.
        processes: the same blocks as processes.
        experiments: which experiment each block comes from.
        drift: standard deviation between the levels of experiments, relative; NaN for
            one experiment.
    """

    backend: str
    arm: str
    residuals: np.ndarray
    processes: tuple[tuple[Process, Process], ...]
    experiments: np.ndarray
    drift: float = math.nan

    @property
    def spreads(self) -> tuple[float, float]:
        """Standard deviations of the reference and of the arm, relative."""
        first, second = np.sqrt((self.residuals**2).mean(axis=0))
        return float(first), float(second)

    @cached_property
    def shapes(self) -> list[tuple[tuple[tuple[int, float], ...], ...]]:
        """Shapes of the windows of each block, the reference's first."""
        return [(first.shape, second.shape) for first, second in self.processes]


def record(stores: Iterable[Path]) -> Noise:
    """Returns the noise of all finished experiments in `stores`."""
    finished = [store for store in stores if (store / "result.json").exists()]
    finished.sort(key=lambda store: (store / "plan.json").stat().st_mtime)
    experiments: list[Experiment] = []
    seen: list[Environment] = []
    for path in finished:
        store = read(path)
        assert isinstance(store, Store)
        experiments += [e for stage in (1, 2) if (e := _fold(store, stage)).blocks]
        seen += [trial.environment for trial in store.trials if trial.environment]
    return Noise(machine=_describe(seen), experiments=tuple(experiments))


def write(noise: Noise, path: Path) -> None:
    """Writes one line an experiment, so that a diff shows which is new."""
    plain = msgspec.to_builtins(noise)
    lines = ",\n".join(json.dumps(each) for each in plain["experiments"])
    machine = json.dumps(plain["machine"])
    path.write_text(f'{{"machine": {machine},\n"experiments": [\n{lines}\n]}}\n')


def load(path: Path) -> Noise:
    """Returns what `write` wrote."""
    return msgspec.json.decode(path.read_bytes(), type=Noise)


def pair_up(noise: Noise) -> list[Pair]:
    """Returns every arm with its reference, from short trials of equal arms."""
    groups: dict[tuple[Any, ...], list[Experiment]] = defaultdict(list)
    for each in noise.experiments:
        if each.stage == 1:
            names = frozenset(process.arm for process in each.blocks[0])
            groups[each.script, each.backend, each.reference, names].append(each)
    order = ("tensorflow", "jax", "torch")
    found = [pair for group in groups.values() for pair in _split(group)]
    return sorted(found, key=lambda pair: (order.index(pair.backend), pair.arm))


def centre(logs: np.ndarray, experiments: np.ndarray) -> np.ndarray:
    """Returns what is left of `logs` without experiment and arm, as large as it was.

    The level of an experiment moves all its arms alike and cancels in every ratio; it
    is taken out, because blocks of several experiments are going to be mixed. That
    alone would falsify what matters here: the residuals of an experiment would add up
    to zero, so that two arms of a block would seem to evade each other. They are
    therefore *reflated* (Carpenter, Goldstein and Rasbash 2003, doi
    10.1111/1467-9876.00415): the linear map that moves them least gives them the
    spreads and the correlation that blocks have inside experiments, which those inside
    tell without bias. What a block, or one process, did to itself stays.

    Args:
        logs: (blocks, arms).
        experiments: which experiment each block belongs to.
    """
    left, inside = logs.astype(float), logs.astype(float)
    numbers = np.unique(experiments)
    for each in numbers:
        own = experiments == each
        left[own] -= logs[own].mean()
        inside[own] -= logs[own].mean(axis=0)
    left -= left.mean(axis=0)
    wanted = inside.T @ inside / max(len(logs) - len(numbers), 1)
    return left @ _map_between(left.T @ left / len(logs), wanted)


def _map_between(given: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The symmetric map from one covariance to another (that of least transport)."""
    root, inverse = _power(given, 0.5), _power(given, -0.5)
    return inverse @ _power(root @ wanted @ root, 0.5) @ inverse


def _power(matrix: np.ndarray, exponent: float) -> np.ndarray:
    values, vectors = np.linalg.eigh(matrix)
    kept = values > 1e-12 * max(values.max(), 1e-12)
    powers = np.where(kept, np.where(kept, values, 1.0) ** exponent, 0.0)
    return (vectors * powers) @ vectors.T


def list_metrics(noise: Noise, backend: str) -> np.ndarray | None:
    """Returns the residuals of the metric of full trainings in margins, if recorded."""
    left: list[float] = []
    for each in noise.experiments:
        if each.backend != backend or each.stage != 2 or each.metric is None:
            continue
        values: dict[str, list[float]] = defaultdict(list)
        for process in (process for block in each.blocks for process in block):
            if process.metric is not None:
                values[process.arm].append(process.metric)
        margin = find_margin(each.metric, float(np.mean(values[each.reference])))
        for arm in values.values():
            if not margin or len(arm) < 2:
                continue
            scale = math.sqrt(len(arm) / (len(arm) - 1)) / margin
            left += [scale * (value - float(np.mean(arm))) for value in arm]
    return np.array(left) if len(left) >= LEAST_METRICS else None


def summarise(noise: Noise) -> list[list[str]]:
    """Returns a row for each backend and arm: how many processes, how far apart."""
    rows: list[list[str]] = []
    for pair in pair_up(noise):
        for place, process in enumerate(pair.processes[0]):
            furthest = np.abs(pair.residuals[:, place]).max()
            figures = (pair.spreads[place], furthest, pair.drift)
            row = [pair.backend, process.arm, f"{len(pair.residuals)}"]
            row += [f"{figure:.1%}" for figure in figures]
            if row not in rows:
                rows.append(row)
    return rows


def _fold(store: Store, stage: int) -> Experiment:
    """The blocks of one stage in which every arm finished."""
    found = {
        (trial.arm, trial.number): trial
        for trial in store.trials
        if trial.stage == stage and trial.outcome == "finished"
    }
    blocks: dict[int, list[Trial | None]] = defaultdict(list)
    for slot in store.plan.order:
        if slot.stage == stage:
            blocks[slot.number].append(found.get((slot.arm, slot.number)))
    whole = [[t for t in block if t is not None] for block in blocks.values()]
    arms = len(store.plan.arms)
    whole = [block for block in whole if len(block) == arms]
    choice = choose_metric(store.plan, list(found.values())) if stage == 2 else None
    return Experiment(
        script=store.plan.script,
        backend=store.plan.arms[0].backend,
        stage=stage,
        reference=store.plan.arms[0].name,
        blocks=tuple(
            tuple(
                _shrink(trial, None if choice is None else read_value(trial, choice))
                for trial in block
            )
            for block in whole
        ),
        metric=None if choice is None else choice.name,
    )


def _shrink(trial: Trial, metric: float | None) -> Process:
    training = trial.judged_training
    assert training is not None
    seconds = mean_step_seconds(training)
    assert seconds is not None
    windows = list_steady_windows(training) if trial.stage == 1 else ()
    return Process(
        arm=trial.arm,
        step_seconds=seconds,
        windows=tuple((w.steps, float(f"{w.seconds:.6g}")) for w in windows),
        metric=metric,
    )


def _split(group: Sequence[Experiment]) -> list[Pair]:
    blocks = [{p.arm: p for p in block} for each in group for block in each.blocks]
    experiments = np.repeat(np.arange(len(group)), [len(e.blocks) for e in group])
    reference = group[0].reference
    others = sorted(name for name in blocks[0] if name != reference)
    names = [reference, *others]
    logs = np.log([[block[name].step_seconds for name in names] for block in blocks])
    residuals = centre(logs, experiments)
    levels = [logs[experiments == each].mean() for each in range(len(group))]
    drift = float(np.std(levels, ddof=1)) if len(group) > 1 else math.nan
    return [
        Pair(
            backend=group[0].backend,
            arm=name,
            residuals=residuals[:, [0, place]],
            processes=tuple((block[reference], block[name]) for block in blocks),
            experiments=experiments,
            drift=drift,
        )
        for place, name in enumerate(others, start=1)
    ]


def _describe(seen: Sequence[Environment]) -> dict[str, Any]:
    if not seen:
        return {}
    packages = {name: v for each in seen for name, v in each.packages.items()}
    return {
        "python": seen[0].python,
        "platform": seen[0].platform,
        "cores": seen[0].cores,
        "devices": [device.name for device in seen[0].devices],
        "packages": dict(sorted(packages.items())),
    }
