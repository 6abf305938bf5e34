"""The first batch of what a script gives to `fit`, whatever form it has."""

from __future__ import annotations

from typing import Any


_BATCH_SIZE = 32
"""What Keras takes where `fit` is given arrays and no `batch_size`."""


def first_batch(keras: Any, arguments: dict[str, Any]) -> Any:
    """Returns the first batch as `(x,)`, `(x, y)` or `(x, y, sample_weight)`.

    An iterator loses it: the script does not go on after it.

    Args:
        keras: the imported module.
        arguments: of `fit` by name, or of `train_on_batch`.

    Returns:
        `None` where no batch can be had.
    """
    x, y = arguments.get("x"), arguments.get("y")
    weight = arguments.get("sample_weight")
    if x is None:
        return None
    if y is None and not _is_array_like(keras, x):
        return _taken(keras, x)
    size = arguments.get("batch_size") or _BATCH_SIZE
    parts = [x] if y is None else [x, y]
    if weight is not None:
        parts = [x, y, weight]
    return tuple(_head(keras, part, size) for part in parts)


def _is_array_like(keras: Any, x: Any) -> bool:
    leaves = keras.tree.flatten(x)
    return bool(leaves) and all(hasattr(leaf, "shape") for leaf in leaves)


def _taken(keras: Any, data: Any) -> Any:
    """Returns the first batch of a data set, a loader or a generator."""
    try:
        is_indexed = isinstance(data, keras.utils.PyDataset)
        batch = data[0] if is_indexed else next(iter(data))
    except (StopIteration, TypeError, IndexError):
        return None
    if isinstance(batch, list):  # of a torch loader
        batch = tuple(batch)
    return batch if isinstance(batch, tuple) else (batch,)


def _head(keras: Any, tree: Any, size: int) -> Any:
    if tree is None:
        return tree

    def head(leaf: Any) -> Any:
        if hasattr(leaf, "iloc"):
            return leaf.iloc[:size]
        return leaf[:size] if hasattr(leaf, "__getitem__") else leaf

    return keras.tree.map_structure(head, tree)
