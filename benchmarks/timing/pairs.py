"""A process for each backend, on one thread, and medians with exact intervals."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any


BACKENDS = ("tensorflow", "jax", "torch")
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "TF_NUM_INTRAOP_THREADS": "1",
    "TF_NUM_INTEROP_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    "TF_CPP_MIN_LOG_LEVEL": "2",
}


def run_children(script: str, backend: str | None, arguments: Sequence[str]) -> int:
    """Runs a script once a backend and returns the worst exit code.

    Args:
        script: its path; it is told `--child` and `--backend`.
        backend: the only one, or `None` for all.
        arguments: what else it is told.
    """
    return max(
        subprocess.run(
            [sys.executable, script, "--child", "--backend", each, *arguments],
            env={**os.environ, **ONE_THREAD, "KERAS_BACKEND": each},
            check=False,
        ).returncode
        for each in ([backend] if backend else BACKENDS)
    )


def keep_to_one_core() -> None:
    """Binds the process to the last core that it may use."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def alternate(
    plain: Callable[[], float], other: Callable[[], float], blocks: int, warm_up: int
) -> list[tuple[float, float]]:
    """Returns seconds of two plain and of two other runs, for each block of ABBA."""
    pairs = []
    for _ in range(warm_up + blocks):
        first = plain()
        middle = other() + other()
        pairs.append((first + plain(), middle))
    return pairs[warm_up:]


def median_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Returns the median between the order statistics that cover it with 95 %."""
    from scipy.stats import binom

    ordered = sorted(values)
    count = len(ordered)
    rank = max(int(binom.ppf(0.025, count, 0.5)) - 1, 0)
    return ordered[rank], ordered[count // 2], ordered[count - 1 - rank]


def ratio_interval(pairs: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
    """Returns lower end, median and upper end of other / plain."""
    return median_interval([other / plain for plain, other in pairs])


def make_clock(keras: Any) -> Any:
    """Returns a callback whose `seconds` are those of the last epoch."""

    class Clock(keras.callbacks.Callback):
        seconds = 0.0

        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            self.began = time.perf_counter()

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            float(logs["loss"])  # the device is done when the number is there
            self.seconds = time.perf_counter() - self.began

    return Clock()
