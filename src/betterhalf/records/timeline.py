"""The machine beside a run, as one would watch it in `nvidia-smi` and `top`."""

from __future__ import annotations

from betterhalf.records._base import Record


class Series(Record, frozen=True, kw_only=True):
    """One quantity over time, with what is worth knowing of it.

    Attributes:
        name: such as `gpu0_utilisation_percent`; the unit is in the name.
        values: one for each time of the timeline, NaN where a reading failed.
        mean: over the finite values.
        maximum: over the finite values.
    """

    name: str
    values: tuple[float, ...]
    mean: float
    maximum: float


class Timeline(Record, frozen=True, kw_only=True):
    """Samples of the machine while a trial ran.

    Attributes:
        seconds: time of each sample, counted from the start of the trial.
        series: one for each quantity that this machine can tell.
        samples_taken: how many there were before thinning.
        thinned: true where neighbours were averaged to keep the record small.
        missing: why a quantity is absent, such as `NVML: no driver`.
        gpu_processes_other: most processes of others seen on a GPU of ours.
        throttled: share of the samples in which a GPU held its clocks back for heat or
            power; absent where it cannot be told.
        logical_processors: of the whole machine; `machine_cpu_percent` is a share of
            them, while `cpu_percent` of the trial is of one.
    """

    seconds: tuple[float, ...] = ()
    series: tuple[Series, ...] = ()
    samples_taken: int = 0
    thinned: bool = False
    missing: tuple[str, ...] = ()
    gpu_processes_other: int | None = None
    throttled: float | None = None
    logical_processors: int | None = None
