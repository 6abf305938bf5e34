"""A fake that drifts from the real binding would prove nothing."""

from __future__ import annotations

import inspect

import pynvml
import pytest


def test_functions_take_what_the_binding_takes(fake):
    functions = [name for name in vars(fake.FakeNvml) if name.startswith("nvml")]
    for name in functions:
        mine, real = getattr(fake.FakeNvml(), name), getattr(pynvml, name)
        if callable(mine):
            assert _parameters(mine) == _parameters(real), name
        else:
            assert mine == real, name
    assert len(functions) > 15


def test_errors_have_the_codes_classes_and_texts_of_the_binding(fake):
    for error, code in fake.CODES.items():
        real, mine = pynvml.NVMLError(code), fake.NVMLError(code)
        assert getattr(pynvml, f"NVML_ERROR_{error}") == code
        assert type(mine).__name__ == type(real).__name__
        assert str(mine) == str(real)


@pytest.mark.parametrize("name", ["NVML_CLOCK_SM", "NVML_DEVICE_MIG_ENABLE"])
def test_constants_are_those_of_the_binding(fake, name):
    assert getattr(fake.FakeNvml, name) == getattr(pynvml, name)


def _parameters(function):
    return list(inspect.signature(function).parameters)
