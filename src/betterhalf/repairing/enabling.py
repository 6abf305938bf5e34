"""`enable` and `disable`: a policy that stays, and the repairs, for one process."""

from __future__ import annotations

import importlib
import logging
import re
import warnings
from typing import Any

from betterhalf import backends
from betterhalf.errors import UsageError
from betterhalf.hardware import facts
from betterhalf.keras_seams import Installation, Listener, in_place, install
from betterhalf.precision.choosing import guess_policy
from betterhalf.records.choice import Choice
from betterhalf.records.environment import Device
from betterhalf.records.trial import Note, Repair
from betterhalf.repairing.repairs import Repairs


LOGGER = logging.getLogger("betterhalf")
POLICIES = ("auto", "float32", "mixed_bfloat16", "mixed_float16")


class Enabled:
    """What `enable` did; a context manager that undoes it.

    Attributes:
        choice: the policy, and why.
    """

    def __init__(self, choice: Choice, repairs: Repairs, keras: Any):
        self.choice = choice
        self._repairs = repairs
        self._keras = keras
        self._before = keras.config.dtype_policy()
        self._installation: Installation | None = None

    @property
    def policy(self) -> str:
        """The global policy that was set."""
        return self.choice.policy

    def __enter__(self) -> Enabled:
        return self

    def __exit__(self, *_: object) -> None:
        if self is _Current.enabled:
            disable()

    def __repr__(self) -> str:
        return f"Enabled(policy={self.policy!r}, reason={self.choice.reason!r})"

    def start(self) -> None:
        """Puts the repairs and the policy in place."""
        keeper = _PolicyKeeper(self._keras, self.policy)
        self._installation = install(self._keras, [keeper, self._repairs])
        keeper.set()

    def stop(self) -> None:
        """Restores Keras and the policy that was in force before."""
        if self._installation is not None:
            self._installation.remove()
            self._installation = None
            self._keras.config.set_dtype_policy(self._before)

    def repairs(self, model: Any) -> tuple[Repair, ...]:
        """Returns what was put right in a model; see `betterhalf.repairs`."""
        return self._repairs.made(model)


class _Current:
    """The one `enable` that is in force in this process."""

    enabled: Enabled | None = None
    last: Enabled | None = None


class _PolicyKeeper(Listener):
    """Puts the policy back after `clear_session`; a later policy line counts."""

    def __init__(self, keras: Any, policy: str):
        self._keras = keras
        self._policy: Any = policy

    def set(self) -> None:
        self._keras.config.set_dtype_policy(self._policy)

    def on_policy(self, name: str) -> str | None:
        self._policy = name if name in POLICIES else None
        return None

    def after_clear_session(self) -> None:
        if self._policy is not None:
            self.set()


def enable(policy: str = "auto") -> Enabled:
    """Turns mixed precision on, and keeps every model that follows right.

    Write it at the top of a script, in place of the policy line. Models that exist
    already keep their policy. What is put right is in `docs/repairs.md`; each repair is
    logged once, and `betterhalf.repairs(model)` lists them.

    Args:
        policy: `float32`, `mixed_bfloat16`, `mixed_float16`, or `auto`, which guesses
            from the hardware and the backend and logs in one line what it chose.

    Returns:
        What was chosen and why; also a context manager that calls `disable`.

    Raises:
        UsageError: an unknown policy, a backend that does not train, or float16 on a
            device without it. Nothing is changed then.

    Example:

    >>> enabled = betterhalf.enable("mixed_bfloat16")
    >>> enabled.policy
    'mixed_bfloat16'
    """
    _refuse_unknown(policy)
    keras: Any = importlib.import_module("keras")
    backend = keras.backend.backend()
    if backend not in backends.NAMES:
        raise UsageError(
            f"Expected a Keras backend that trains: {', '.join(backends.NAMES)}. "
            f"Received: '{backend}'. Set KERAS_BACKEND before keras is imported."
        )
    choice = _choose(policy, backend, _devices(backend))
    if _has_models(keras):
        warnings.warn(
            "layers exist already: they keep their policy. Call betterhalf.enable() "
            "before the first layer is made.",
            UserWarning,
            stacklevel=2,
        )
    disable()
    if in_place():
        enabled = _leave_to_arm(choice, keras)
        _Current.enabled = _Current.last = enabled
        return enabled
    enabled = Enabled(choice, Repairs(keras, _log_repair, _warn_of_note), keras)
    enabled.start()
    _Current.enabled = _Current.last = enabled
    if policy == "auto":
        LOGGER.warning("policy %s: %s", choice.policy, choice.reason)
    return enabled


def disable() -> None:
    """Restores Keras exactly, and the global policy from before `enable`.

    Models that were repaired stay so. Without an `enable` before it does nothing.
    """
    enabled, _Current.enabled = _Current.enabled, None
    if enabled is not None:
        enabled.stop()


def repairs(model: Any) -> tuple[Repair, ...]:
    """Returns what was put right in a model since `enable`, by layer, with the reason.

    Args:
        model: a Keras model.

    Raises:
        UsageError: `enable` was never called.

    Example:

    >>> for repair in betterhalf.repairs(model):
    ...     print(repair.where, repair.reason)
    """
    if _Current.last is None:
        raise UsageError(
            "Expected betterhalf.enable() before betterhalf.repairs(model). "
            "Received: no enable in this process."
        )
    return _Current.last.repairs(model)


def _leave_to_arm(choice: Choice, keras: Any) -> Enabled:
    """Leaves the policy and the repairs to the arm that `compare` runs here.

    The policy line is what the arm hears of any script: it notes that another was asked
    for. An arm with `+raw` is not repaired, so nothing is listed for it.
    """
    heard = [each for installed in in_place() for each in installed.listeners]
    own = next((each for each in heard if isinstance(each, Repairs)), None)
    keras.config.set_dtype_policy(choice.policy)
    chosen = Choice(
        policy=keras.config.dtype_policy().name,
        backend=choice.backend,
        device=choice.device,
        reason="the arm that betterhalf compare runs has chosen",
    )
    return Enabled(chosen, own or Repairs(keras, _log_repair, _warn_of_note), keras)


def _refuse_unknown(policy: object) -> None:
    if policy not in POLICIES:
        raise UsageError(
            f"Expected a policy of {', '.join(POLICIES)}. Received: {policy!r}. "
            "'float16' and 'bfloat16' keep the weights in 16 bit, which loses small "
            "updates; set those with keras.config.set_dtype_policy."
        )


def _devices(backend: str) -> tuple[Device, ...]:
    accelerators = backends.load(backend).devices()
    known = {device.name: device for device in facts.read_devices()}
    if accelerators:
        return tuple(known.get(device.name, device) for device in accelerators)
    return tuple(device for device in known.values() if device.kind == "cpu")


def _choose(policy: str, backend: str, devices: tuple[Device, ...]) -> Choice:
    device = devices[0]
    if policy == "mixed_float16" and device.kind == "tpu":
        raise UsageError(
            "Expected a policy that the device computes in. Received: 'mixed_float16' "
            f"on {device.name}, which has no float16. Use 'mixed_bfloat16'."
        )
    if policy == "auto":
        policy, reason = guess_policy(backend, devices)
    else:
        reason = "it was asked for"
    return Choice(policy=policy, backend=backend, device=device.name, reason=reason)


def _has_models(keras: Any) -> bool:
    """Whether Keras has named layers since the last `clear_session`."""
    state: Any = importlib.import_module("keras.src.backend.common.global_state")
    named = state.get_global_attribute("object_name_uids") or {}
    known = {_snake(name) for name in dir(keras.layers)} | {"functional", "sequential"}
    return any(name in known for name in named)


def _snake(name: str) -> str:
    words = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", words).lower()


def _log_repair(repair: Repair) -> None:
    LOGGER.info(
        "%s: %s, %s -> %s: %s",
        repair.code,
        repair.where,
        repair.before,
        repair.after,
        repair.reason,
    )


def _warn_of_note(note: Note) -> None:
    todo = f": {note.todo}" if note.todo else ""
    warnings.warn(f"{note.text}{todo}", UserWarning, stacklevel=2)
