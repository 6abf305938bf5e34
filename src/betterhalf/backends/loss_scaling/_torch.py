"""torch: one fused pass over all gradients, and the decision on the host.

`torch._amp_foreach_non_finite_check_and_unscale_` is what torch's own `GradScaler` is
made of. It works in place, as that does: a gradient that is its parameter's own `.grad`
is divided where it is, any other one is copied first.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import torch

from betterhalf.backends.loss_scaling._base import LossScaling, ScaledStep
from betterhalf.backends.loss_scaling._torch_optim import NativeOptimizer


_WIDE = (torch.float32, torch.float64)
_CHECK_AND_UNSCALE: Any = torch._amp_foreach_non_finite_check_and_unscale_  # pyright: ignore[reportPrivateImportUsage]


class TorchLossScaling(LossScaling):
    """See `LossScaling`; a step costs one synchronisation with the device."""

    def adopt(self, optimizer: Any) -> Any:
        """See `LossScaling.adopt`."""
        if isinstance(optimizer, torch.optim.Optimizer):
            return NativeOptimizer(optimizer)
        return optimizer

    def take(self, step: ScaledStep) -> None:
        """See `LossScaling.take`; `torch.compile` compiles the update alone.

        It would compile the numbers of the state into the code, and so all of it again
        at each step.
        """
        gradients, good = _prepare(self, step)
        if good:
            step.update(gradients)

    def prepare(self, step: ScaledStep) -> tuple[list[Any], bool]:
        """Returns the gradients to update with, and whether to."""
        gradients, finite = self.unscale(step)
        return gradients, self._decide(finite, step)

    @torch.no_grad()
    def unscale(self, step: ScaledStep) -> tuple[list[Any], Any]:
        """See `LossScaling.unscale`."""
        scale = step.scale()
        gradients, groups = _sort(step)
        found = {scale.device: torch.zeros((), device=scale.device)}
        inverse = scale.double().reciprocal().float()
        for (device, _, kept), group in groups.items():
            bad = found.setdefault(device, torch.zeros((), device=device))
            factor = torch.ones_like(scale) if kept else inverse
            _CHECK_AND_UNSCALE(group, bad, factor.to(device))
        count = sum(bad.to(scale.device) for bad in found.values())
        return gradients, count == 0

    def read(self, *tensors: Any) -> list[float]:
        """Returns the values of scalars, fetched from the device together."""
        return torch.stack([tensor.detach().double() for tensor in tensors]).tolist()


_prepare: Any = torch.compiler.disable(TorchLossScaling.prepare)


def _sort(step: ScaledStep) -> tuple[list[Any], dict[Any, list[Any]]]:
    """Returns the gradients that may be written to, and them by device and dtype."""
    gradients: list[Any] = []
    groups: dict[Any, list[Any]] = defaultdict(list)
    for gradient, variable, kept in zip(
        step.gradients, step.variables, step.kept, strict=True
    ):
        owned = None if gradient is None else _own(gradient, variable, kept)
        gradients.append(owned)
        if owned is not None:
            values = owned._values() if owned.is_sparse else owned
            groups[values.device, values.dtype, kept].append(values)
    return gradients, groups


def _own(gradient: Any, variable: Any, kept: bool) -> Any:
    """Returns the gradient, or a copy that nobody else holds."""
    if gradient.dtype not in _WIDE and not kept:
        return gradient.float()  # what is below 6e-8 would be zero again in float16
    if kept or gradient is not _parameter(variable).grad:
        return gradient.clone()
    return gradient.coalesce() if gradient.is_sparse else gradient


def _parameter(variable: Any) -> Any:
    return variable if isinstance(variable, torch.Tensor) else variable._value


ADAPTER = TorchLossScaling
