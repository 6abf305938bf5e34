from __future__ import annotations

import itertools
import math
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from betterhalf.judging import samples as judged
from betterhalf.records.training import Epoch, Training, Window
from betterhalf.reporting import samples


times = st.floats(min_value=1e-6, max_value=1e3)
windows = st.builds(
    Window,
    epoch=st.just(0),
    steps=st.integers(min_value=0, max_value=50),
    seconds=times,
    steady=st.booleans(),
)
epochs = st.builds(
    Epoch,
    index=st.integers(min_value=0, max_value=9),
    seconds=times,
    train_seconds=times,
    steps=st.just(1),
    complete=st.booleans(),
)
trainings = st.builds(
    Training,
    ordinal=st.just(0),
    kind=st.just("fit"),
    model=st.just("m"),
    windows=st.lists(windows, max_size=8).map(tuple),
    epochs=st.lists(epochs, max_size=8).map(tuple),
)


def close(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=1e-9)


@given(trainings)
def test_the_points_of_a_chart_are_the_figures_that_were_judged(
    training: Training,
) -> None:
    assert close(samples.step_seconds(training), judged.mean_step_seconds(training))
    assert close(samples.epoch_seconds(training), judged.mean_epoch_seconds(training))


@given(st.lists(st.integers(), max_size=300), st.integers(min_value=2, max_value=50))
def test_thinning_keeps_both_ends_and_the_order(items: list[int], limit: int) -> None:
    numbered = list(enumerate(items))
    kept = samples.thin(numbered, limit)
    assert len(kept) == min(len(items), limit)
    assert list(kept) == sorted(set(kept))
    if items:
        assert (kept[0], kept[-1]) == (numbered[0], numbered[-1])


def test_thinning_leaves_no_large_gap() -> None:
    kept = samples.thin(range(1000), 100)
    steps = [after - before for before, after in itertools.pairwise(kept)]
    assert max(steps) - min(steps) <= 1


def test_many_windows_are_thinned_and_counted(make: SimpleNamespace) -> None:
    found = samples.list_windows([make.trial("float32", 1, windows=3000)])
    assert found.recorded == 6000
    assert len(found.rows) == samples.CHART_SAMPLES
    assert found.thinned


def test_every_trial_keeps_some_samples(make: SimpleNamespace) -> None:
    trials = [make.trial("float32", number, windows=50) for number in range(200)]
    found = samples.list_windows(trials)
    assert len(found.rows) == len(trials) * samples.LEAST_SAMPLES


def test_readings_that_failed_are_left_out(make: SimpleNamespace) -> None:
    found = samples.list_series([make.trial("float32", 1)], ["process_rss_bytes"])
    assert len(found.rows) == 2
    assert all(math.isfinite(row["value"]) for row in found.rows)


def test_a_trial_that_never_trained_gives_no_rows(make: SimpleNamespace) -> None:
    trials = [make.failed_trial("float32", 1, "no")]
    assert samples.list_windows(trials).rows == ()
    assert samples.list_epochs(trials).rows == ()
    assert samples.list_peaks(trials) == ()
    assert samples.list_speeds(trials, "step") == ()


def test_a_short_trial_has_no_epoch_that_was_judged(make: SimpleNamespace) -> None:
    trials = [make.trial("float32", 1), make.trial("float32", 1, stage=2)]
    assert len(samples.list_speeds(trials, "step")) == 2
    assert len(samples.list_speeds(trials, "epoch")) == 1
