"""Facts about Keras and the machine."""

from __future__ import annotations

from typing import Any

from betterhalf import backends
from betterhalf.auditing.view import EnvironmentView
from betterhalf.hardware.facts import read_environment
from betterhalf.keras_seams import in_place
from betterhalf.repairing import Repairs


def view_environment(keras: Any) -> EnvironmentView:
    """Returns backend, versions, settings and the devices in use."""
    backend = backends.load(keras.backend.backend())
    accelerators = backend.devices()
    machine = read_environment(("keras", *backend.versions()))
    known = {device.name: device for device in machine.devices}
    cpus = tuple(device for device in machine.devices if device.kind == "cpu")
    return EnvironmentView(
        backend=backend.name,
        keras_version=str(keras.__version__),
        floatx=str(keras.config.floatx()),
        epsilon=float(keras.config.epsilon()),
        global_policy=str(keras.config.dtype_policy().name),
        versions=machine.packages,
        devices=tuple(known.get(each.name, each) for each in accelerators) or cpus,
        enabled=any(
            isinstance(listener, Repairs)
            for installation in in_place()
            for listener in installation.listeners
        ),
    )
