from __future__ import annotations

import getpass
import os
import platform
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from betterhalf.hardware import facts
from betterhalf.hardware.facts import read_devices, read_environment
from betterhalf.records.codec import encode_line
from betterhalf.records.environment import NUMERIC_VARIABLES, Device


INTEL = """processor\t: 0
model name\t: Intel(R) Xeon(R) Platinum 8480+
flags\t\t: fpu avx2 avx512f avx512_bf16 avx512_fp16 amx_bf16 amx_tile avx512_vnni

processor\t: 1
model name\t: another
"""
ARM = """processor\t: 0
BogoMIPS\t: 2100.00
Features\t: fp asimd fphp asimdhp bf16 sve
CPU implementer\t: 0x41
"""


def test_the_environment_is_that_of_this_process():
    environment = read_environment(["numpy", "no-such-package"])
    assert environment.python == platform.python_version()
    assert environment.platform == f"{platform.system()}-{platform.machine()}"
    assert environment.memory_bytes == psutil.virtual_memory().total
    assert set(environment.packages) == {"numpy"}
    assert environment.devices[-1].kind == "cpu"


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity")
def test_cores_are_those_that_the_process_may_use():
    code = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        "from betterhalf.hardware.facts import read_environment\n"
        "print(read_environment([]).cores)"
    )
    assert _run(code) == "1"


def test_cores_are_all_where_a_platform_has_no_affinity(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert read_environment([]).cores == os.cpu_count()


def test_only_variables_that_change_numerics_are_recorded(monkeypatch):
    for name in NUMERIC_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    monkeypatch.setenv("SECRET_TOKEN", "hush")
    assert read_environment([]).variables == {"OMP_NUM_THREADS": "4"}


@pytest.mark.parametrize(
    ("value", "recorded"),
    [
        ("--xla_dump_to=/home/me/x --xla_a=1", "--xla_dump_to=<path> --xla_a=1"),
        ("/home/me/flags.txt", "<path>"),
        ("--x=~/dump,--y=2", "--x=<path>,--y=2"),
        ("--x=../me/dump", "--x=<path>"),
        ("--x=C:\\Users\\me", "--x=<path>"),
        ("--x=\\\\host\\share", "--x=<path>"),
        ("--x=file:///home/me", "--x=<path>"),
        ("--x='/home/me and you/x' --y", "--x='<path>' --y"),
        ('--x="/home/me and you/x" --y', '--x="<path>" --y'),
        ("--ratio=1/2 --a=b.c", "--ratio=1/2 --a=b.c"),
        ("GPU-8f1c,1", "GPU-8f1c,1"),
        ("BF16", "BF16"),
        ("", ""),
    ],
)
def test_paths_in_values_are_left_out(monkeypatch, value, recorded):
    monkeypatch.setenv("XLA_FLAGS", value)
    assert read_environment([]).variables["XLA_FLAGS"] == recorded


def test_nothing_tells_whose_machine_it_is(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", f"--xla_dump_to={Path.home() / 'dump'}")
    text = encode_line(read_environment(["numpy"])).decode()
    words = {socket.gethostname(), getpass.getuser(), str(Path.home())}
    # short names such as `vm` occur in other words
    assert not [word for word in words if len(word) > 3 and word in text]


def test_a_cpu_is_described_from_its_first_processor(monkeypatch, tmp_path):
    cpu = _describe_cpu(monkeypatch, tmp_path, INTEL)
    assert cpu == Device(
        kind="cpu",
        name="Intel(R) Xeon(R) Platinum 8480+",
        flags=(
            "avx2",
            "avx512f",
            "avx512_bf16",
            "avx512_fp16",
            "amx_bf16",
            "amx_tile",
        ),
    )


def test_an_arm_cpu_has_no_model_name_but_features(monkeypatch, tmp_path):
    monkeypatch.setattr(platform, "processor", lambda: "")
    cpu = _describe_cpu(monkeypatch, tmp_path, ARM)
    assert cpu.name == platform.machine()
    assert cpu.flags == ("asimdhp", "bf16")


def test_a_platform_without_cpuinfo_has_a_name_and_no_flags(monkeypatch, tmp_path):
    monkeypatch.setattr(platform, "processor", lambda: "arm")
    cpu = _describe_cpu(monkeypatch, tmp_path, None)
    assert cpu == Device(kind="cpu", name="arm")


def test_visible_gpus_come_before_the_cpu(fake, monkeypatch):
    gpus = [fake.Gpu(), fake.Gpu(uuid="GPU-b", capability=(9, 0), total=80_000)]
    nvml = fake.FakeNvml(*gpus).install(monkeypatch)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    gpu, cpu = read_devices()
    assert gpu == Device(
        kind="gpu",
        name="NVIDIA A100-SXM4-40GB",
        memory_bytes=80_000,
        compute_capability="9.0",
        driver="570.86.15",
    )
    assert cpu.kind == "cpu"
    assert nvml.opened == 0


def test_older_bindings_that_give_bytes_are_understood(fake, monkeypatch):
    nvml = fake.FakeNvml(fake.Gpu(), bytes_for_text=True)
    nvml.install(monkeypatch)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    gpu = read_devices()[0]
    assert (gpu.name, gpu.driver) == ("NVIDIA A100-SXM4-40GB", "570.86.15")


def test_a_mig_instance_is_a_device_of_its_own_size(fake, monkeypatch):
    gpu = fake.Gpu(instances=[fake.Instance("MIG-1", total=5_000)])
    fake.FakeNvml(gpu).install(monkeypatch)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    device = read_devices()[0]
    assert device.name.endswith("MIG 1g.5gb")
    assert device.memory_bytes == 5_000
    assert device.compute_capability == "8.0"


def test_what_a_gpu_does_not_tell_is_absent(fake, monkeypatch):
    errors = {
        "nvmlDeviceGetMemoryInfo": "NOT_SUPPORTED",
        "nvmlDeviceGetCudaComputeCapability": "UNKNOWN",
        "nvmlDeviceGetName": "UNKNOWN",
    }
    fake.FakeNvml(fake.Gpu(errors=errors)).install(monkeypatch)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    gpu = read_devices()[0]
    assert gpu.name == "NVIDIA GPU"
    assert gpu.memory_bytes is None
    assert gpu.compute_capability is None


def test_a_machine_without_nvml_has_its_cpu(fake, monkeypatch):
    fake.FakeNvml(init_error="LIBRARY_NOT_FOUND").install(monkeypatch)
    assert [device.kind for device in read_devices()] == ["cpu"]


def test_no_framework_is_imported():
    code = (
        "import sys\n"
        "from betterhalf.hardware import facts, processes, sampling\n"
        "loaded = 'keras tensorflow jax torch numpy pynvml'.split()\n"
        "assert not set(loaded) & set(sys.modules), set(loaded) & set(sys.modules)\n"
        "facts.read_environment(['keras', 'torch'])\n"
        "assert not set(loaded[:-1]) & set(sys.modules)\n"
        "print('clean')"
    )
    assert _run(code) == "clean"


def _describe_cpu(monkeypatch, tmp_path, text):
    path = tmp_path / "cpuinfo"
    if text is not None:
        path.write_text(text)
    monkeypatch.setattr(facts, "_CPUINFO", path)
    return facts.read_devices()[-1]


def _run(code):
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, capture_output=True, text=True, check=True
    ).stdout.strip()
