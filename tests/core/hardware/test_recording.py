from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from betterhalf.hardware.recording import LIMIT, Recorder


values = st.floats(-1e12, 1e12) | st.sampled_from([math.nan, math.inf, -math.inf])


@given(st.lists(values, max_size=60), st.integers(1, 9))
def test_thinning_averages_neighbours_and_leaves_the_summary_alone(samples, limit):
    timeline = _record(samples, limit)
    finite = np.array([v if math.isfinite(v) else math.nan for v in samples])
    size = 1
    while math.ceil(len(samples) / size) > limit:
        size *= 2
    groups = [finite[at : at + size] for at in range(0, len(samples), size)]
    times = [
        np.arange(len(samples))[i : i + size] for i in range(0, len(samples), size)
    ]
    (series,) = timeline.series
    assert len(series.values) == len(timeline.seconds) <= limit
    assert timeline.samples_taken == len(samples)
    assert timeline.thinned == (size > 1)
    assert timeline.seconds == pytest.approx([group.mean() for group in times])
    assert series.values == _near([_mean(group) for group in groups])
    assert series.mean == _near(_mean(finite))
    known = finite[~np.isnan(finite)]
    assert series.maximum == _near(known.max() if known.size else math.nan)


def test_a_short_timeline_keeps_its_samples_as_they_are():
    timeline = _record([0.1, 0.2, 0.3], LIMIT)
    assert timeline.series[0].values == (0.1, 0.2, 0.3)
    assert not timeline.thinned


def test_a_long_timeline_keeps_at_least_half_of_the_limit():
    timeline = _record([1.0] * (LIMIT * 4 + 1), LIMIT)
    assert LIMIT / 2 <= len(timeline.seconds) <= LIMIT
    assert timeline.thinned


def test_a_quantity_that_is_not_told_counts_as_failed():
    recorder = Recorder(["told", "not"])
    recorder.add(0.0, {"told": 1.0, "unknown": 5.0})
    told, untold = recorder.make_timeline().series
    assert told.values == (1.0,)
    assert math.isnan(untold.values[0])
    assert math.isnan(untold.mean)
    assert math.isnan(untold.maximum)


def test_fields_of_the_timeline_pass_through():
    timeline = Recorder([]).make_timeline(missing=("NVML: no driver",), throttled=0.5)
    assert timeline.missing == ("NVML: no driver",)
    assert timeline.throttled == 0.5


def _record(samples, limit):
    recorder = Recorder(["x"], limit)
    for second, value in enumerate(samples):
        recorder.add(float(second), {"x": value})
    return recorder.make_timeline()


def _mean(group):
    known = group[~np.isnan(group)]
    return known.mean() if known.size else math.nan


def _near(expected):
    return pytest.approx(expected, rel=1e-9, abs=1e-2, nan_ok=True)
