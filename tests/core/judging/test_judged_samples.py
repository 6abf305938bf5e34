from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from betterhalf.judging import samples
from betterhalf.records.training import Epoch, Training, Window


def _training(windows=(), epochs=(), **fields):
    return Training(
        ordinal=0,
        kind="fit",
        model="cnn",
        windows=tuple(windows),
        epochs=tuple(epochs),
        **fields,
    )


def _epoch(index, seconds, complete=True, **fields):
    return Epoch(
        index=index,
        seconds=seconds,
        train_seconds=0.9 * seconds,
        steps=10,
        complete=complete,
        **fields,
    )


WINDOWS = st.lists(
    st.builds(
        Window,
        epoch=st.just(0),
        steps=st.integers(1, 100),
        seconds=st.floats(0.001, 10.0),
        steady=st.booleans(),
    ),
    max_size=20,
)


@given(WINDOWS)
def test_time_per_step_is_all_steady_seconds_over_all_steady_steps(windows):
    steady = [window for window in windows if window.steady]
    mean = samples.mean_step_seconds(_training(windows))
    if not steady:
        assert mean is None
        return
    steps = [w.seconds / w.steps for w in steady for _ in range(w.steps)]
    assert mean == pytest.approx(sum(steps) / len(steps))


@given(WINDOWS)
def test_the_median_step_lies_between_the_extremes(windows):
    times = [w.seconds / w.steps for w in windows if w.steady]
    middle = samples.median_step_seconds(_training(windows))
    if times:
        assert min(times) <= middle <= max(times)
    else:
        assert middle is None


def test_the_first_epoch_and_a_broken_one_do_not_count():
    training = _training(
        epochs=[_epoch(0, 9.0), _epoch(1, 2.0), _epoch(2, 4.0), _epoch(3, 1.0, False)]
    )
    assert samples.mean_epoch_seconds(training) == 3.0


def test_the_first_epoch_is_the_first_that_ran_and_not_index_zero():
    training = _training(epochs=[_epoch(5, 9.0), _epoch(6, 2.0)])
    assert samples.mean_epoch_seconds(training) == 2.0


def test_one_epoch_gives_no_epoch_time():
    assert samples.mean_epoch_seconds(_training(epochs=[_epoch(0, 9.0)])) is None


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf")])
def test_a_faulty_clock_gives_no_figure(seconds):
    window = Window(epoch=0, steps=20, seconds=seconds, steady=True)
    training = _training([window], [_epoch(0, 1.0), _epoch(1, seconds)])
    assert samples.mean_step_seconds(training) is None
    assert samples.median_step_seconds(training) is None
    assert samples.mean_epoch_seconds(training) is None


def test_a_window_without_steps_does_not_divide_by_zero():
    window = Window(epoch=0, steps=0, seconds=1.0, steady=True)
    assert samples.mean_step_seconds(_training([window])) is None


def test_start_up_runs_from_the_start_of_the_process(lab):
    assert samples.startup_seconds(lab.short("float32", 1, 0.03)) == 5.0


def test_start_up_of_a_second_training_leaves_the_first_one_out(lab):
    trial = lab.short("float32", 1, 0.03)
    first = structs.replace(
        trial.trainings[0], first_step_at_seconds=5.0, startup_seconds=2.0
    )
    second = structs.replace(
        first, ordinal=1, first_step_at_seconds=100.0, startup_seconds=1.5
    )
    both = structs.replace(trial, trainings=(first, second), judged=1)
    assert samples.startup_seconds(both) == 3.0 + 1.5


def test_start_up_falls_back_to_what_the_training_knows(lab):
    trial = lab.short("float32", 1, 0.03)
    unknown = structs.replace(trial.trainings[0], first_step_at_seconds=None)
    assert samples.startup_seconds(structs.replace(trial, trainings=(unknown,))) == 2.0
    second = structs.replace(trial.trainings[0], ordinal=1, startup_seconds=None)
    both = structs.replace(trial, trainings=(trial.trainings[0], second), judged=1)
    assert samples.startup_seconds(both) is None


def test_a_script_that_never_trained_has_no_figures(lab):
    trial = structs.replace(lab.short("float32", 1, 0.03), trainings=(), judged=None)
    assert samples.startup_seconds(trial) is None
    assert samples.whole_seconds(trial) is None


def test_a_short_trial_is_extrapolated_to_a_whole_training(lab):
    trial = lab.short("float32", 1, 0.03)
    whole = samples.whole_seconds(trial)
    assert whole == pytest.approx(5.0 + (50 * 352 - 1) * 0.03)


def test_a_whole_training_needs_no_extrapolation(lab):
    trial = lab.full("float32", 1, 10.0)
    training = trial.judged_training
    assert samples.whole_seconds(trial) == 2.0 + training.seconds - 1.0


def test_a_short_trial_of_unknown_length_has_no_whole(lab):
    trial = lab.short("float32", 1, 0.03)
    training = structs.replace(trial.trainings[0], steps_per_epoch=None)
    assert samples.whole_seconds(structs.replace(trial, trainings=(training,))) is None


def test_samples_of_a_step_count_the_smaller_last_batch():
    training = _training(epochs=[_epoch(0, 1.0, samples=315)], batch_size=32)
    assert samples.samples_per_step(training) == 31.5
    assert samples.samples_per_step(_training(batch_size=32)) == 32
    assert samples.samples_per_step(_training()) is None
