"""Mixed precision in Keras, made right and proved on your own hardware.

Importing this package loads neither keras nor numpy: every public name is loaded
when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from betterhalf import callbacks as callbacks
    from betterhalf.checking import check as check
    from betterhalf.repairing.enabling import disable as disable
    from betterhalf.repairing.enabling import enable as enable
    from betterhalf.repairing.enabling import repairs as repairs
    from betterhalf.scaling.optimizer import LossScaleOptimizer as LossScaleOptimizer
    from betterhalf.trials.comparing import compare as compare
    from betterhalf.trials.reading import read as read

__version__ = "0.1.0.dev0"

_PUBLIC = {
    "LossScaleOptimizer": "betterhalf.scaling.optimizer:LossScaleOptimizer",
    "callbacks": "betterhalf.callbacks",
    "check": "betterhalf.checking:check",
    "compare": "betterhalf.trials.comparing:compare",
    "disable": "betterhalf.repairing.enabling:disable",
    "enable": "betterhalf.repairing.enabling:enable",
    "read": "betterhalf.trials.reading:read",
    "repairs": "betterhalf.repairing.enabling:repairs",
}

__all__ = [  # noqa: PLE0604, RUF100
    "LossScaleOptimizer",
    "callbacks",
    "check",
    "compare",
    "disable",
    "enable",
    "read",
    "repairs",
]


def __getattr__(name: str) -> object:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'betterhalf' has no attribute {name!r}")
    module, _, attribute = _PUBLIC[name].partition(":")
    loaded = import_module(module)
    return getattr(loaded, attribute) if attribute else loaded


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
