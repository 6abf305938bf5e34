from __future__ import annotations

import math
import threading
import time

import pytest

from betterhalf.hardware import sampling
from betterhalf.hardware.sampling import Sampler
from betterhalf.hardware.sources._base import Source
from betterhalf.records.codec import decode_line, encode_line
from betterhalf.records.timeline import Timeline


MEBIBYTE = 2**20
BUSY = """
import time
input()
began, cpu = time.perf_counter(), time.process_time()
while time.perf_counter() - began < 1.5:
    pass
print((time.process_time() - cpu) / (time.perf_counter() - began), flush=True)
input()
"""
ALLOCATING = """
input()
held = bytearray(b"x" * 200 * 2**20)
print("held", flush=True)
input()
"""


class Counting(Source):
    def __init__(self, seconds=0.0):
        super().__init__()
        self.names = ("count",)
        self.closed = 0
        self._count = 0
        self._seconds = seconds

    def read(self):
        _burn(self._seconds)
        self._count += 1
        return {"count": float(self._count)}

    def summarise(self):
        return {"logical_processors": 3}

    def close(self):
        self.closed += 1


class Failing(Source):
    def __init__(self):
        super().__init__()
        self.names = ("bad",)
        self.missing = ["bad: at times"]

    def read(self):
        raise ZeroDivisionError

    def close(self):
        raise ZeroDivisionError


class Hanging(Source):
    def __init__(self):
        super().__init__()
        self.release = threading.Event()

    def read(self):
        self.release.wait(30)
        return {}


def test_a_busy_child_is_seen_as_busy_as_it_is(start_child):
    child = start_child(BUSY)
    sampler = Sampler(child.pid)
    sampler.start()
    _tell(child)
    share = float(child.stdout.readline())
    timeline = sampler.stop()
    cpu = _get(timeline, "cpu_percent")
    # the first sample may reach back to before it was told to begin
    seen = [value for value in cpu.values[1:] if math.isfinite(value)]
    assert sum(seen) / len(seen) == pytest.approx(100 * share, abs=15)
    assert cpu.maximum <= 125


def test_memory_grows_as_the_child_allocates(start_child):
    child = start_child(ALLOCATING)
    sampler = Sampler(child.pid, interval_seconds=0.05)
    sampler.start()
    time.sleep(0.3)
    _tell(child)
    assert child.stdout.readline() == "held\n"
    time.sleep(0.3)
    resident = _get(sampler.stop(), "process_rss_bytes").values
    assert resident[-1] - resident[0] >= 190 * MEBIBYTE


def test_samples_come_at_least_four_times_a_second(start_child):
    sampler = Sampler(start_child("input()").pid)
    sampler.start()
    time.sleep(1.7)
    seconds = sampler.stop().seconds
    assert (len(seconds) - 1) / (seconds[-1] - seconds[0]) >= 4
    assert list(seconds) == sorted(seconds)


def test_a_child_that_ends_leaves_a_timeline(start_child):
    child = start_child("")
    sampler = Sampler(child.pid, interval_seconds=0.02)
    sampler.start()
    child.wait()
    time.sleep(0.2)
    timeline = sampler.stop()
    assert timeline.samples_taken > 3
    assert math.isnan(_get(timeline, "process_rss_bytes").values[-1])
    assert _get(timeline, "processes").values[-1] == 0
    assert _get(timeline, "memory_used_bytes").mean > 0
    assert decode_line(encode_line(timeline), Timeline).missing == timeline.missing


def test_gpus_are_sampled_and_the_trial_is_not_a_stranger(
    start_child, fake, monkeypatch
):
    child = start_child("input()")
    other = start_child("input()")
    gpu = fake.Gpu(processes=[child.pid, other.pid], reasons=0x40)
    nvml = fake.FakeNvml(gpu, fake.Gpu(uuid="GPU-b")).install(monkeypatch)
    environ = {"CUDA_VISIBLE_DEVICES": "GPU-aaaa"}
    sampler = Sampler(child.pid, interval_seconds=0.02, environ=environ)
    sampler.start()
    time.sleep(0.3)
    timeline = sampler.stop()
    assert _get(timeline, "gpu0_power_watts").maximum == 250.5
    assert not [s for s in timeline.series if s.name.startswith("gpu1")]
    assert timeline.gpu_processes_other == 1
    assert timeline.throttled == 1.0
    assert timeline.missing == ()
    assert nvml.opened == 0


def test_a_source_that_fails_costs_its_own_series_only():
    counting = Counting()
    timeline = _sample([Failing(), counting])
    assert all(map(math.isnan, _get(timeline, "bad").values))
    assert _get(timeline, "count").values[:2] == (1.0, 2.0)
    assert timeline.missing == ("Failing: ZeroDivisionError", "bad: at times")
    assert timeline.logical_processors == 3
    assert counting.closed == 1


def test_sources_that_cannot_be_made_cost_the_timeline_only():
    def refuse(pid, environ):
        raise OSError("too many open files")

    sampler = Sampler(1, open_with=refuse)
    sampler.start()
    time.sleep(0.1)
    assert sampler.stop() == Timeline(
        missing=("sampler: OSError: too many open files",)
    )


def test_stopping_twice_gives_the_same(start_child):
    sampler = Sampler(1, 0.02, open_with=lambda pid, environ: [Counting()])
    sampler.start()
    time.sleep(0.1)
    assert sampler.stop() == sampler.stop()


def test_a_sampler_that_was_never_started_has_seen_nothing():
    assert Sampler(1).stop() == Timeline()


def test_a_thread_that_cannot_start_is_no_error(monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    sampler = Sampler(1)
    sampler.start()
    assert sampler.stop().missing == ("sampler: can't start new thread",)


def test_a_reading_that_hangs_does_not_hold_the_parent(monkeypatch):
    monkeypatch.setattr(sampling, "_STOP_SECONDS", 0.1)
    hanging = Hanging()
    sampler = Sampler(1, 0.02, open_with=lambda pid, environ: [Counting(), hanging])
    sampler.start()
    time.sleep(0.1)
    assert sampler.stop().missing == ("sampler: a reading hangs",)
    hanging.release.set()


def test_dear_readings_become_rarer():
    cheap = _sample([Counting()], seconds=1.0).samples_taken
    dear = _sample([Counting(seconds=0.02)], seconds=1.0).samples_taken
    assert dear <= 5 < cheap


@pytest.mark.parametrize("interval", [0, -1.0, math.nan])
def test_an_interval_must_be_positive(interval):
    with pytest.raises(ValueError, match="Received"):
        Sampler(1, interval)


def _sample(sources, seconds=0.2):
    sampler = Sampler(1, 0.02, open_with=lambda pid, environ: sources)
    sampler.start()
    time.sleep(seconds)
    return sampler.stop()


def _get(timeline, name):
    return next(series for series in timeline.series if series.name == name)


def _tell(child):
    child.stdin.write("\n")
    child.stdin.flush()


def _burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
