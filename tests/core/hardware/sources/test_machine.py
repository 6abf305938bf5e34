from __future__ import annotations

import os

import psutil
import pytest

from betterhalf.hardware.sources.machine import MachineSource


def test_the_machine_is_told_as_psutil_tells_it():
    source = MachineSource()
    values = source.read()
    assert set(values) == set(source.names)
    assert 0 <= values["machine_cpu_percent"] <= 100
    assert 0 < values["memory_used_bytes"] <= psutil.virtual_memory().total
    assert values["swap_used_bytes"] <= psutil.swap_memory().total
    assert source.summarise() == {"logical_processors": psutil.cpu_count()}


@pytest.mark.skipif(not hasattr(os, "getloadavg"), reason="no load averages")
def test_load_is_absent_where_the_platform_keeps_none(monkeypatch):
    assert "load_1min" in MachineSource().names
    monkeypatch.delattr(os, "getloadavg")
    source = MachineSource()
    assert "load_1min" not in source.names
    assert source.missing == ["load_1min: this platform keeps none"]


@pytest.mark.parametrize("error", [PermissionError, psutil.AccessDenied, ValueError])
def test_a_file_of_the_kernel_that_is_closed_costs_one_quantity(monkeypatch, error):
    def refuse():
        raise error

    monkeypatch.setattr(psutil, "swap_memory", refuse)
    source = MachineSource()
    assert "swap_used_bytes" not in source.names
    assert "memory_used_bytes" in source.read()
    assert source.missing == [f"swap_used_bytes: {error.__name__}"]
