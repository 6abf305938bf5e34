"""The clock against a clock that the test moves."""

from hypothesis import given
from hypothesis import strategies as st

from betterhalf.worker.clock import WINDOW_SECONDS, WINDOW_STEPS, Clock, Limit


class Bench:
    """A training whose every call takes as long as the test says."""

    def __init__(self, limit=None):
        self.time = 0.0
        self.windows = []
        self.limits = 0
        self.first_steps = 0
        self.waits = 0
        self.clock = Clock(
            synchronise=self._wait,
            on_window=self.windows.append,
            on_first_step=self._first,
            on_limit=self._limit,
            limit=limit or Limit(),
            now=lambda: self.time,
        )

    def _wait(self, outputs):
        assert outputs == "outputs"
        self.waits += 1

    def _first(self):
        self.first_steps += 1

    def _limit(self):
        self.limits += 1

    def run(self, calls, seconds, steps=1, traced=False):
        for _ in range(calls):
            self.time += seconds
            self.clock.count(steps, "outputs", traced)


@given(
    st.lists(st.floats(1e-4, 2.0), min_size=2, max_size=200),
    st.integers(1, 5),
)
def test_windows_add_up_to_the_whole_training(durations, steps):
    bench = Bench()
    for seconds in durations:
        bench.run(1, seconds, steps)
    bench.clock.end_window()
    assert sum(window.steps for window in bench.windows) == steps * len(durations)
    total = sum(window.seconds for window in bench.windows)
    assert abs(total - sum(durations)) < 1e-6


@given(st.floats(1e-4, 1.0), st.integers(30, 300))
def test_a_window_has_enough_steps_and_lasts_long_enough(seconds, calls):
    bench = Bench()
    bench.run(calls, seconds)
    for window in bench.windows[1:]:
        assert window.steps >= WINDOW_STEPS
        assert window.seconds >= WINDOW_SECONDS - 1e-6


def test_the_device_is_waited_for_at_the_ends_of_windows_only():
    bench = Bench()
    bench.run(1 + 32 * 10, 1 / 64)  # sums that are exact in binary
    assert bench.waits == len(bench.windows) == 1 + 10


def test_the_first_step_is_a_window_of_its_own_and_not_steady():
    bench = Bench()
    bench.run(1, 3.0)
    assert bench.first_steps == 1
    assert [(w.steps, w.seconds, w.steady) for w in bench.windows] == [(1, 3.0, False)]


def test_a_window_in_which_a_step_was_compiled_is_not_steady():
    bench = Bench()
    bench.run(1, 1.0)
    bench.run(10, 0.1)
    bench.run(1, 5.0, traced=True)
    bench.run(60, 0.1)
    assert [window.steady for window in bench.windows] == [False, False, True, True]


def test_a_short_training_ends_when_its_steady_part_is_full():
    bench = Bench(Limit(steady_steps=30, steady_seconds=2.0))
    bench.run(1, 1.0)
    for _ in range(500):
        bench.run(1, 0.1)
        if bench.limits:
            break
    assert bench.clock.steps == 31
    steady = [window for window in bench.windows if window.steady]
    assert sum(window.steps for window in steady) == 30


def test_a_short_training_of_fast_steps_lasts_its_seconds():
    bench = Bench(Limit(steady_steps=30, steady_seconds=2.0))
    bench.run(1, 1.0)
    for _ in range(10_000):
        bench.run(1, 0.001)
        if bench.limits:
            break
    assert abs(sum(w.seconds for w in bench.windows if w.steady) - 2.0) < 0.01


def test_compiled_windows_do_not_count_towards_a_short_training():
    bench = Bench(Limit(steady_steps=30, steady_seconds=2.0))
    bench.run(1, 1.0)
    bench.run(100, 0.1, traced=True)
    assert bench.limits == 0


def test_a_cap_in_steps_is_reached_once():
    bench = Bench(Limit(steps=10))
    bench.run(20, 0.1)
    assert bench.limits == 1


def test_a_window_that_begins_anew_forgets_what_came_before():
    bench = Bench()
    bench.run(1, 1.0)
    bench.time += 100.0
    bench.clock.begin_window()
    bench.run(20, 0.1)
    assert abs(bench.windows[-1].seconds - 2.0) < 1e-9
