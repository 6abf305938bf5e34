"""Facts about the arrays of a batch, as they were given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from betterhalf.auditing.view import ArrayView
from betterhalf.precision.facts import SIXTEEN_BIT


_READ = 2_000_000
"""Numbers of an array that are looked at, so that a batch of images costs little."""


class Batch(NamedTuple):
    """The first batch, its leaves as NumPy arrays.

    Attributes:
        x: what the model is fed, in its structure.
        y: what is learned; `None` without.
        sample_weight: likewise.
    """

    x: Any
    y: Any = None
    sample_weight: Any = None

    @property
    def data(self) -> tuple[Any, ...]:
        """What a train step is given."""
        if self.sample_weight is not None:
            return (self.x, self.y, self.sample_weight)
        return (self.x,) if self.y is None else (self.x, self.y)


def read_batch(keras: Any, given: Any) -> Batch:
    """Returns a batch as `fit` would take it apart.

    Args:
        keras: the imported module.
        given: `x`, or a tuple `(x,)`, `(x, y)` or `(x, y, sample_weight)`.
    """
    parts = given if isinstance(given, tuple) else (given,)
    return Batch(*(_to_numpy(keras, part) for part in parts[:3]))


def _to_numpy(keras: Any, tree: Any) -> Any:
    if tree is None:
        return None
    return keras.tree.map_structure(lambda leaf: _array(keras, leaf), tree)


def _array(keras: Any, leaf: Any) -> Any:
    if hasattr(leaf, "iloc") and hasattr(leaf, "to_numpy"):  # a frame of pandas
        leaf = leaf.to_numpy()
    if leaf is None or isinstance(leaf, np.ndarray):
        return leaf
    try:
        return np.asarray(keras.ops.convert_to_numpy(leaf))
    except (TypeError, ValueError, AttributeError):
        return np.asarray(leaf)


def view_arrays(keras: Any, tree: Any) -> tuple[ArrayView, ...]:
    """Returns facts about each array of a structure, by name or position."""
    return tuple(_view(name, array) for name, array in _named(keras, tree))


def _named(keras: Any, tree: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(tree, dict):
        for name in sorted(tree):
            yield from ((str(name), leaf) for leaf in keras.tree.flatten(tree[name]))
    elif tree is not None:
        for position, leaf in enumerate(keras.tree.flatten(tree)):
            yield str(position), leaf


def _view(name: str, array: Any) -> ArrayView:
    dtype, shape = str(array.dtype), tuple(array.shape)
    plain = ArrayView(name=name, dtype=dtype, shape=shape)
    is_number = array.dtype.kind in "iuf" or dtype in SIXTEEN_BIT
    if not is_number or not array.size:
        return plain
    rows = _some_rows(array).astype("float64")
    finite = np.isfinite(rows)
    values = rows[finite]
    if not values.size:
        return ArrayView(name=name, dtype=dtype, shape=shape, finite=False)
    distinct = np.unique(values)
    return ArrayView(
        name=name,
        dtype=dtype,
        shape=shape,
        minimum=float(values.min()),
        maximum=float(values.max()),
        finite=bool(finite.all()),
        integral=bool((values == np.rint(values)).all()),
        distinct=int(distinct.size),
        rounding={each: _rounding(rows, each) for each in SIXTEEN_BIT},
        merged={each: _merged(distinct, each) for each in SIXTEEN_BIT},
    )


def _some_rows(array: Any) -> Any:
    rows = (
        array.reshape(-1, array.shape[-1])
        if array.ndim > 1
        else array[:, None]
        if array.ndim
        else array.reshape(1, 1)
    )
    return rows[: max(1, _READ // max(1, rows.shape[-1]))]


def _rounding(rows: Any, dtype: str) -> float:
    """Returns the largest error of a cast, in standard deviations of its column."""
    with np.errstate(all="ignore"):
        error = np.abs(_cast(rows, dtype) - rows)
        error = np.where(np.isfinite(rows), error, 0.0)
        spread = np.nanstd(np.where(np.isfinite(rows), rows, np.nan), axis=0)
        return float(
            np.max(np.where(error > 0, error / np.maximum(spread, 1e-300), 0.0))
        )


def _merged(distinct: Any, dtype: str) -> int:
    with np.errstate(all="ignore"):
        return int(distinct.size - np.unique(_cast(distinct, dtype)).size)


def _cast(values: Any, dtype: str) -> Any:
    if dtype == "bfloat16":
        import ml_dtypes  # noqa: PLC0415 (Keras needs it; nothing else here does)

        return values.astype("float32").astype(ml_dtypes.bfloat16).astype("float64")
    return values.astype("float32").astype(dtype).astype("float64")
