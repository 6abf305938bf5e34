from __future__ import annotations

import sys

import pytest

from betterhalf.hardware.nvml import NvmlAbsentError, list_visible_gpus, open_nvml


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ("LIBRARY_NOT_FOUND", "NVML: no library"),
        ("DRIVER_NOT_LOADED", "NVML: no driver"),
        ("NO_PERMISSION", "NVML: no permission"),
        ("UNKNOWN", "NVML: Unknown Error"),
    ],
)
def test_an_nvml_that_does_not_open_says_why(fake, monkeypatch, error, reason):
    fake.FakeNvml(init_error=error).install(monkeypatch)
    with pytest.raises(NvmlAbsentError, match=f"^{reason}$"):
        open_nvml()


def test_a_missing_binding_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(NvmlAbsentError, match="nvidia-ml-py"):
        open_nvml()


@pytest.mark.parametrize(
    ("variable", "indices"),
    [
        (None, [0, 1, 2]),
        ("", []),
        ("-1", []),
        ("1", [1]),
        ("2,0", [2, 0]),
        ("0,9,1", [0]),
        ("GPU-bbbb", [1]),
        ("GPU-b", [1]),
        ("GPU-c1,0", [2, 0]),
        ("GPU-none,0", []),
        ("GPU-", []),
    ],
)
def test_only_gpus_that_the_trial_can_see_are_listed(
    fake, monkeypatch, variable, indices
):
    uuids = ("GPU-aaaa", "GPU-bbbb", "GPU-c1c1")
    gpus, notes = _list(fake, monkeypatch, variable, [fake.Gpu(uuid=u) for u in uuids])
    assert [gpu.index for gpu in gpus] == indices
    assert notes == ()


def test_a_gpu_that_may_not_be_touched_is_named_and_not_counted(fake, monkeypatch):
    shut = fake.Gpu(errors={"nvmlDeviceGetHandleByIndex": "NO_PERMISSION"})
    gpus, notes = _list(fake, monkeypatch, "0", [shut, fake.Gpu(uuid="GPU-b")])
    assert [gpu.index for gpu in gpus] == [1]
    assert notes == ("gpu0: Insufficient Permissions",)


def test_numbers_of_unlike_gpus_are_not_trusted(fake, monkeypatch):
    machine = [fake.Gpu(name="NVIDIA T4"), fake.Gpu(name="NVIDIA H100", uuid="GPU-h")]
    gpus, notes = _list(fake, monkeypatch, "0", machine)
    assert [gpu.index for gpu in gpus] == [0, 1]
    assert "CUDA_DEVICE_ORDER" in notes[0]


@pytest.mark.parametrize(
    "environ",
    [
        {"CUDA_VISIBLE_DEVICES": "0", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"},
        {"CUDA_VISIBLE_DEVICES": "GPU-t"},
    ],
)
def test_unlike_gpus_are_told_apart_along_the_bus_or_by_uuid(
    fake, monkeypatch, environ
):
    machine = [fake.Gpu(name="NVIDIA T4", uuid="GPU-t"), fake.Gpu(name="NVIDIA H100")]
    fake.FakeNvml(*machine).install(monkeypatch)
    gpus, notes = list_visible_gpus(open_nvml(), environ)
    assert [gpu.index for gpu in gpus] == [0]
    assert notes == ()


@pytest.mark.parametrize(
    ("variable", "uuid"),
    [
        (None, "MIG-1111"),
        ("1", "MIG-1111"),
        ("GPU-divided", "MIG-1111"),
        ("MIG-2222", "MIG-2222"),
        ("MIG-22", "MIG-2222"),
        ("MIG-GPU-divided/8/0", "MIG-2222"),
        ("MIG-2222,MIG-1111", "MIG-2222"),
        ("0,1", "MIG-1111"),
    ],
)
def test_a_trial_gets_one_mig_instance_and_nothing_beside(
    fake, monkeypatch, variable, uuid
):
    gpus, _ = _list(fake, monkeypatch, variable, _make_divided(fake))
    assert [(gpu.index, gpu.part.instance.uuid) for gpu in gpus] == [(1, uuid)]


@pytest.mark.parametrize("variable", ["MIG-", "MIG-3333", "MIG-GPU-divided/9/0"])
def test_a_mig_name_that_fits_no_single_instance_hides_all(fake, monkeypatch, variable):
    gpus, _ = _list(fake, monkeypatch, variable, _make_divided(fake))
    assert gpus == ()


def test_a_divided_gpu_without_instances_is_of_no_use(fake, monkeypatch):
    gpus, notes = _list(fake, monkeypatch, None, [fake.Gpu(instances=[])])
    assert gpus == ()
    assert notes == ("gpu0: divided by MIG, without an instance",)


def test_uuids_in_bytes_are_understood(fake, monkeypatch):
    nvml = fake.FakeNvml(fake.Gpu(), bytes_for_text=True).install(monkeypatch)
    nvml.nvmlInit()
    gpus, _ = list_visible_gpus(nvml, {"CUDA_VISIBLE_DEVICES": "GPU-aaaa"})
    assert len(gpus) == 1


def _list(fake, monkeypatch, variable, gpus):
    fake.FakeNvml(*gpus).install(monkeypatch)
    environ = {} if variable is None else {"CUDA_VISIBLE_DEVICES": variable}
    return list_visible_gpus(open_nvml(), environ)


def _make_divided(fake):
    instances = [fake.Instance("MIG-1111", gi=7), fake.Instance("MIG-2222", gi=8)]
    return [
        fake.Gpu(uuid="GPU-whole"),
        fake.Gpu(uuid="GPU-divided", instances=instances),
    ]
