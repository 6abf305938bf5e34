"""What the sampler beside a trial costs: its share of one core.

Measured inside the process of the parent, which does nothing but wait meanwhile, so
that all CPU time it spends is the sampler's. `python benchmarks/sampling.py --help`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

import psutil

from betterhalf.hardware.processes import end_process_tree
from betterhalf.hardware.sampling import Sampler


_TRIAL = """
import subprocess, sys, time
sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
workers = [subprocess.Popen(sleep) for _ in range(int(sys.argv[1]))]
print("ready", flush=True)
time.sleep(600)
"""


def measure(
    workers: int, seconds: float, interval: float
) -> tuple[float, float, float]:
    """Returns milliseconds to open, the share of one core, and samples a second.

    Args:
        workers: processes of the trial beside its first.
        seconds: how long to sample.
        interval: seconds from one sample to the next.
    """
    command = [sys.executable, "-c", _TRIAL, str(workers)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, start_new_session=True
    ) as trial:
        assert trial.stdout is not None
        trial.stdout.readline()
        sampler = Sampler(trial.pid, interval)
        opening = time.process_time()
        sampler.start()
        time.sleep(1.5 * interval)
        cpu, wall = time.process_time(), time.perf_counter()
        opening = cpu - opening
        time.sleep(seconds)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        moments = sampler.stop().seconds
        end_process_tree(trial.pid, grace_seconds=0)
    rate = (len(moments) - 1) / (moments[-1] - moments[0])
    return 1000 * opening, cpu / wall, rate


def main() -> None:
    """Prints one line for each size of a trial."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--interval", type=float, default=0.2)
    options = parser.parse_args()
    print(f"{len(psutil.pids())} processes on this machine, the trial's apart")
    print(
        "processes of the trial   opening, once   share of one core   samples a second"
    )
    for workers in (0, 8, 32):
        opening, share, rate = measure(workers, options.seconds, options.interval)
        print(
            f"{workers + 1:>22}   {opening:>10.0f} ms   {share:>17.2%}   {rate:>16.1f}"
        )


if __name__ == "__main__":
    main()
