"""The arithmetic of resampled noise: a mistake in it would only look like a result."""

from __future__ import annotations

import numpy as np
import pytest
from calibration.noise import Experiment, Noise, Pair, Process, centre, pair_up
from calibration.resampling import ACCURACY, Cell, draw_trials, judge_whole, run

from betterhalf.judging import judge


def make_pair(residuals: np.ndarray) -> Pair:
    process = Process(arm="", step_seconds=0.1, windows=((20, 2.0), (30, 3.0)))
    return Pair(
        backend="jax",
        arm="mixed_bfloat16",
        residuals=residuals,
        processes=((process, process),) * len(residuals),
        experiments=np.arange(len(residuals)),
    )


def test_levels_of_experiments_and_arms_are_taken_out() -> None:
    experiments = np.repeat(np.arange(4), 3)
    logs = np.array([0.3, -2.0, 5.0, 1.0])[experiments][:, None] + [[1.0, 2.0, 7.0]]
    assert centre(logs, experiments) == pytest.approx(np.zeros((12, 3)))


def test_what_disturbs_a_whole_block_stays_in_it() -> None:
    random = np.random.default_rng(0)
    logs = 0.01 * random.standard_normal((30, 3))
    logs[4] += 0.3
    left = centre(logs, np.repeat(np.arange(10), 3))
    assert left[4] == pytest.approx(np.full(3, 0.3), rel=0.3)
    assert np.abs(np.delete(left, 4, axis=0)).max() < 0.15


def test_residuals_vary_together_as_blocks_of_an_experiment_do() -> None:
    """Levels of experiments, far apart, tell nothing of either."""
    random = np.random.default_rng(0)
    experiments = np.repeat(np.arange(10), 3)
    spreads = np.array([0.04, 0.04, 0.08])
    found = []
    for _ in range(400):
        level = random.standard_normal((10, 1))[experiments]
        block = 0.03 * random.standard_normal((30, 1))
        left = centre(
            level + block + spreads * random.standard_normal((30, 3)), experiments
        )
        found.append(left.T @ left / 30)
    wanted = np.diag(spreads**2) + 0.03**2
    assert np.mean(found, axis=0) == pytest.approx(wanted, rel=0.1)


def test_residuals_of_every_arm_have_no_mean() -> None:
    random = np.random.default_rng(0)
    experiments = np.repeat(np.arange(5), [3, 3, 2, 3, 1])
    left = centre(random.standard_normal((12, 3)), experiments)
    assert left.mean(axis=0) == pytest.approx(np.zeros(3))


@pytest.mark.parametrize("full", [False, True])
def test_both_arms_get_the_residual_of_the_same_block(full: bool) -> None:
    """A disturbance that hits a whole block cancels in the ratio."""
    shared = np.random.default_rng(0).standard_normal(30)
    pair = make_pair(np.stack([shared, shared], axis=1))
    cell = Cell(1.3, full=full)
    random = np.random.default_rng(1)
    for _ in range(10):
        arm = judge(cell.plan, draw_trials(pair, cell, random)).arms[1]
        assert arm.speedup is not None
        assert arm.speedup.estimate == pytest.approx(1.3)


def test_the_planted_truth_is_what_is_judged() -> None:
    pair = make_pair(1e-6 * np.random.default_rng(0).standard_normal((30, 2)))
    metrics = 1e-6 * np.random.default_rng(1).standard_normal(50)
    cell = Cell(1.6, full=True, loss=2.0, metrics=metrics)
    result = judge(cell.plan, draw_trials(pair, cell, np.random.default_rng(2)))
    reference, arm = result.arms
    assert arm.speedup is not None
    assert arm.metric is not None
    assert reference.epoch_seconds is not None
    assert arm.speedup.estimate == pytest.approx(1.6, rel=1e-4)
    assert arm.metric.reference_mean == pytest.approx(ACCURACY, rel=1e-4)
    assert arm.metric.difference == pytest.approx(-2 * arm.metric.margin, rel=1e-3)
    assert arm.verdict == "revert"


def test_intervals_of_normal_noise_hold_the_truth_as_often_as_they_say() -> None:
    pair = make_pair(0.04 * np.random.default_rng(0).standard_normal((1000, 2)))
    pair.residuals[:] -= pair.residuals.mean(axis=0)
    assert run(pair, Cell(1.1), 300, seed=0).coverage == pytest.approx(0.96, abs=0.03)


def test_real_experiments_are_judged_against_the_ratio_of_the_others() -> None:
    def experiment(ratio: float) -> Experiment:
        blocks = tuple(
            tuple(
                Process(arm=arm, step_seconds=seconds, windows=((10, 10 * seconds),))
                for arm, seconds in (
                    ("float32", 0.02 + 1e-5 * block),
                    ("mixed_bfloat16", (0.02 + 2e-5 * block) / ratio),
                )
            )
            for block in range(3)
        )
        return Experiment(
            script="s", backend="torch", stage=1, reference="float32", blocks=blocks
        )

    ratios = (1.5, 1.5, 1.5, 1.5, 1.9)
    noise = Noise(machine={}, experiments=tuple(map(experiment, ratios)))
    (pair,) = pair_up(noise)
    # the odd one moves what the others are compared with
    assert judge_whole(pair) == (0, 5)
    (even,) = pair_up(Noise(machine={}, experiments=noise.experiments[:4]))
    assert judge_whole(even) == (4, 4)
