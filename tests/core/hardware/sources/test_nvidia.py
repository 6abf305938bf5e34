from __future__ import annotations

import math

import pytest

from betterhalf.hardware.sources.nvidia import NvidiaSource


QUANTITIES = ["utilisation_percent", "memory_used_bytes", "power_watts", "sm_clock_mhz"]


def test_every_gpu_tells_four_quantities(fake, monkeypatch):
    second = fake.Gpu(uuid="GPU-b", used=7_000, milliwatts=100_000)
    source, _ = _watch(fake, monkeypatch, fake.Gpu(), second)
    values = source.read()
    assert source.names == tuple(f"gpu{i}_{q}" for i in (0, 1) for q in QUANTITIES)
    assert set(values) == set(source.names)
    assert values["gpu0_utilisation_percent"] == 90
    assert values["gpu0_memory_used_bytes"] == 5_000
    assert values["gpu0_power_watts"] == 250.5
    assert values["gpu0_sm_clock_mhz"] == 1_410
    assert values["gpu1_memory_used_bytes"] == 7_000
    assert source.missing == []


def test_numbers_are_those_of_nvidia_smi(fake, monkeypatch):
    gpus = [fake.Gpu(uuid=f"GPU-{i}", used=i) for i in range(3)]
    environ = {"CUDA_VISIBLE_DEVICES": "2"}
    source, _ = _watch(fake, monkeypatch, *gpus, environ=environ)
    assert source.read()["gpu2_memory_used_bytes"] == 2


@pytest.mark.parametrize("error", ["LIBRARY_NOT_FOUND", "DRIVER_NOT_LOADED"])
def test_a_machine_without_nvml_has_a_source_that_says_so(fake, monkeypatch, error):
    fake.FakeNvml(init_error=error).install(monkeypatch)
    source = _make(holds=set())
    assert source.read() == {}
    assert source.names == ()
    assert source.summarise() == {"throttled": None, "gpu_processes_other": None}
    assert len(source.missing) == 1
    source.close()


def test_one_reading_without_permission_is_absent_and_named_once(fake, monkeypatch):
    gpu = fake.Gpu(errors={"nvmlDeviceGetPowerUsage": "NO_PERMISSION"})
    source, _ = _watch(fake, monkeypatch, gpu)
    for _ in range(3):
        assert set(source.read()) == {f"gpu0_{q}" for q in QUANTITIES} - {
            "gpu0_power_watts"
        }
    assert source.missing == ["gpu0 power_watts: Insufficient Permissions"]


def test_an_older_driver_is_asked_in_the_older_way(fake, monkeypatch):
    errors = {
        "nvmlDeviceGetMemoryInfo_v2": "FUNCTION_NOT_FOUND",
        "nvmlDeviceGetCurrentClocksEventReasons": "FUNCTION_NOT_FOUND",
    }
    source, _ = _watch(fake, monkeypatch, fake.Gpu(errors=errors, reasons=0x20))
    assert source.read()["gpu0_memory_used_bytes"] == 5_600
    assert source.summarise()["throttled"] == 1.0
    assert source.missing == []


def test_a_mig_instance_has_its_own_memory_and_no_utilisation(fake, monkeypatch):
    instance = fake.Instance("MIG-1", used=1_234, processes=[1, 99])
    gpu = fake.Gpu(instances=[instance], processes=[1, 2, 3, 99])
    source, _ = _watch(fake, monkeypatch, gpu, holds={99})
    values = source.read()
    assert values == {
        "gpu0_memory_used_bytes": 1_234,
        "gpu0_power_watts": 250.5,
        "gpu0_sm_clock_mhz": 1_410,
    }
    assert source.missing == ["gpu0 utilisation_percent: Not Supported"]
    assert source.summarise()["gpu_processes_other"] == 1


@pytest.mark.parametrize("error", ["GPU_IS_LOST", "RESET_REQUIRED"])
def test_a_gpu_that_falls_off_gives_nan_and_is_left_alone(fake, monkeypatch, error):
    lost, well = fake.Gpu(), fake.Gpu(uuid="GPU-b")
    source, nvml = _watch(fake, monkeypatch, lost, well)
    assert not any(map(math.isnan, source.read().values()))
    lost.errors["*"] = error
    for _ in range(7):
        values = source.read()
        for name, value in values.items():
            assert math.isnan(value) == name.startswith("gpu0"), name
    assert len(source.missing) == 1
    assert source.missing[0].startswith("gpu0: GPU ")
    nvml.calls.clear()
    lost.errors.clear()
    assert math.isnan(source.read()["gpu0_power_watts"])
    assert nvml.calls.count("nvmlDeviceGetPowerUsage") == 1


def test_a_gpu_that_is_lost_from_the_start_has_no_series(fake, monkeypatch):
    lost = fake.Gpu(errors={"*": "GPU_IS_LOST"})
    source, _ = _watch(fake, monkeypatch, lost, fake.Gpu(uuid="GPU-b"))
    assert all(name.startswith("gpu1_") for name in source.names)
    assert source.missing == ["gpu0: GPU is lost"]


def test_a_reading_that_fails_for_once_is_nan_for_once(fake, monkeypatch):
    gpu = fake.Gpu()
    source, _ = _watch(fake, monkeypatch, gpu)
    gpu.errors["nvmlDeviceGetClockInfo"] = "UNKNOWN"
    assert math.isnan(source.read()["gpu0_sm_clock_mhz"])
    gpu.errors.clear()
    assert source.read()["gpu0_sm_clock_mhz"] == 1_410
    assert source.missing == ["gpu0 sm_clock_mhz: Unknown Error"]


@pytest.mark.parametrize(
    ("reasons", "share"),
    [
        ([0x0, 0x1, 0x2, 0x10], 0.0),
        ([0x4, 0x8, 0x20, 0x40, 0x80], 1.0),
        ([0x1, 0x20 | 0x1, 0x0, 0x0], 0.25),
    ],
)
def test_throttled_is_the_share_of_samples_with_heat_or_power(
    fake, monkeypatch, reasons, share
):
    gpu = fake.Gpu()
    source, _ = _watch(fake, monkeypatch, gpu)
    for gpu.reasons in reasons:
        source.read()
    assert source.summarise()["throttled"] == share


def test_throttling_that_cannot_be_told_is_absent(fake, monkeypatch):
    names = ("EventReasons", "ThrottleReasons")
    errors = {f"nvmlDeviceGetCurrentClocks{name}": "NOT_SUPPORTED" for name in names}
    source, _ = _watch(fake, monkeypatch, fake.Gpu(errors=errors))
    source.read()
    assert source.summarise()["throttled"] is None
    assert source.missing == ["gpu0 clock_reasons: Not Supported"]


def test_processes_outside_the_trial_are_counted_at_their_most(fake, monkeypatch):
    gpu = fake.Gpu(processes=[10])
    source, _ = _watch(fake, monkeypatch, gpu, holds={10})
    for others in ([], [20, 21, 22], [20]):
        gpu.processes = [10, *others]
        for _ in range(5):
            source.read()
    assert source.summarise()["gpu_processes_other"] == 3


def test_processes_that_cannot_be_seen_from_a_container_are_not_blamed(
    fake, monkeypatch
):
    source, _ = _watch(fake, monkeypatch, fake.Gpu(processes=[5000]), here=set())
    source.read()
    assert source.summarise()["gpu_processes_other"] == 0
    assert source.missing == ["gpu0 processes: some are not visible from here"]


def test_nvml_is_closed_as_often_as_it_is_opened(fake, monkeypatch):
    source, nvml = _watch(fake, monkeypatch, fake.Gpu())
    assert nvml.opened == 1
    source.close()
    assert nvml.opened == 0
    source.close()
    assert source.missing == ["NVML: Uninitialized"]


def test_the_real_binding_answers_or_says_why_not():
    source = _make(holds=set())
    source.read()
    source.close()
    assert source.names or source.missing


def _watch(fake, monkeypatch, *gpus, **options):
    nvml = fake.FakeNvml(*gpus).install(monkeypatch)
    return _make(**options), nvml


def _make(environ=None, holds=frozenset(), here=None):
    return NvidiaSource(
        environ or {},
        holds=lambda pid: pid in holds,
        is_here=lambda pid: here is None or pid in here,
    )
