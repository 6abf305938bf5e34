"""What the child can tell of its environment once keras is there."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from typing import Any

from betterhalf.backends import Backend
from betterhalf.records.environment import NUMERIC_VARIABLES, Environment


def read_environment(keras: Any, backend: Backend) -> Environment:
    """Returns versions, devices in use and the named variables.

    Read after the first training: asking a backend for its devices earlier would settle
    what the script may still want to configure.
    """
    packages = {"keras": str(keras.__version__)}
    for name in (*backend.versions(), "numpy"):
        try:
            packages[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return Environment(
        python=platform.python_version(),
        platform=f"{platform.system()}-{platform.machine()}",
        cores=_usable_cores(),
        packages=packages,
        devices=backend.devices(),
        variables={
            name: os.environ[name] for name in NUMERIC_VARIABLES if name in os.environ
        },
    )


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
