"""TensorFlow: few operations, for outside XLA each of them costs its dispatch.

Gradients of one shape are stacked, so that one multiplication and one check do for all
of them; the slices of a stack share its memory. The check is a sum of squares, which is
one operation; since it also overflows where every element is finite, a sum that is not
finite is looked at again element by element.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import tensorflow as tf

from betterhalf.backends.loss_scaling._base import LossScaling, ScaledStep
from betterhalf.errors import UsageError


_STACKED_ELEMENTS = 2**16
"""Larger gradients take longer to copy than an operation takes to dispatch."""


class TensorflowLossScaling(LossScaling):
    """See `LossScaling`.

    Under a distribution strategy each replica has gradients of its own, for they are
    added up later, by the inner optimizer. So the replicas first agree.
    """

    def take(self, step: ScaledStep) -> None:
        """See `LossScaling.take`."""
        replica = tf.distribute.get_replica_context()
        if replica is None:
            raise UsageError(
                "expected `apply` to be called in a replica. Received: a call outside "
                "of `strategy.run`. Call it in the function that `run` is given."
            )
        if replica.num_replicas_in_sync == 1:
            super().take(step)
        elif tf.__internal__.distribute.strategy_supports_no_merge_call():
            gradients, finite = self.unscale(step)
            agreed = replica.all_reduce("SUM", tf.cast(finite, tf.float32))
            self.choose(agreed == replica.num_replicas_in_sync, gradients, step)
        else:
            replica.merge_call(self._take_together, (list(step.gradients), step))

    def _take_together(self, strategy: Any, gradients: Any, step: Any) -> None:
        """Takes the step of all replicas: in one of them nothing can be conditional."""
        replicas = strategy.extended.call_for_each_replica
        step = strategy.experimental_local_results(step)[0]
        unscaled, finite = replicas(
            lambda own: self.unscale(step.on(own)), args=(gradients,)
        )
        finite = tf.reduce_all(tf.stack(strategy.experimental_local_results(finite)))

        def take() -> None:
            replicas(step.update, args=(unscaled,))
            step.accept()

        tf.cond(finite, take, lambda: _skip(step))

    def unscale(self, step: ScaledStep) -> tuple[list[Any], Any]:
        """See `LossScaling.unscale`."""
        inverse = 1.0 / step.scale()
        gradients = list(step.gradients)
        checked: list[Any] = []
        for indices in _group(step):
            values = [_values(gradients[index]) for index in indices]
            stacked = tf.stack(values) if len(indices) > 1 else values[0]
            checked.append(stacked)
            if step.kept[indices[0]]:
                continue
            wide = stacked if stacked.dtype.size >= 4 else tf.cast(stacked, tf.float32)
            scaled = wide * tf.cast(inverse, wide.dtype)
            parts = tf.unstack(scaled) if len(indices) > 1 else [scaled]
            for index, part in zip(indices, parts, strict=True):
                gradients[index] = _like(gradients[index], part)
        return gradients, _all_finite(checked)

    def is_known(self, tensor: Any) -> bool:
        """See `LossScaling.is_known`."""
        del tensor
        return tf.executing_eagerly()

    def read_now(self, variable: Any) -> float | None:
        """See `LossScaling.read_now`; of a variable with copies, the first."""
        if not tf.executing_eagerly():
            return None
        return float(tf.convert_to_tensor(variable.value))

    def choose(self, finite: Any, gradients: list[Any], step: ScaledStep) -> None:
        """Takes one of two branches of the graph."""

        def take() -> None:
            step.update(gradients)
            step.accept()

        tf.cond(finite, take, lambda: _skip(step))


def _skip(step: ScaledStep) -> None:
    bad_steps = step.reject()
    if step.complaint is None:
        return
    with tf.control_dependencies([bad_steps]):
        tf.debugging.Assert(bad_steps % step.patience != 0, [step.complaint])


def _group(step: ScaledStep) -> list[list[int]]:
    """Returns indices of gradients to handle together."""
    groups: dict[Any, list[int]] = defaultdict(list)
    for index, (gradient, kept) in enumerate(
        zip(step.gradients, step.kept, strict=True)
    ):
        if gradient is None:
            continue
        key: Any = index
        shape = gradient.shape
        known = isinstance(gradient, tf.Tensor) and shape.is_fully_defined()
        if known and shape.num_elements() <= _STACKED_ELEMENTS:
            key = (tuple(shape), gradient.dtype, kept)
        groups[key].append(index)
    return list(groups.values())


def _values(gradient: Any) -> Any:
    return gradient.values if isinstance(gradient, tf.IndexedSlices) else gradient


def _like(gradient: Any, values: Any) -> Any:
    if isinstance(gradient, tf.IndexedSlices):
        return tf.IndexedSlices(values, gradient.indices, gradient.dense_shape)
    return values


def _all_finite(tensors: list[Any]) -> Any:
    sums = [tf.cast(tf.nn.l2_loss(tensor), tf.float32) for tensor in tensors]
    finite = tf.math.is_finite(tf.add_n(sums))
    return tf.cond(finite, lambda: True, lambda: _look_at_each(tensors))


def _look_at_each(tensors: list[Any]) -> Any:
    verdicts = [tf.reduce_all(tf.math.is_finite(tensor)) for tensor in tensors]
    return tf.reduce_all(tf.stack(verdicts))


ADAPTER = TensorflowLossScaling
