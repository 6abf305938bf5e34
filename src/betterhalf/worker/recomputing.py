"""Measures again, in float32, what a model measured on 16-bit outputs.

A metric that is a function gets the model's output as it is: in float16 a mean of
squares overflows at 256, and in bfloat16 it keeps three digits, while the loss of the
same name is cast to float32 first and is right. To judge an arm by such a number would
be to judge its metric, so the data are gone over once more with the outputs cast.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from betterhalf.records import events
from betterhalf.records.instructions import Instructions
from betterhalf.records.trial import Note
from betterhalf.worker.metrics import read_logs
from betterhalf.worker.sightings import Sightings
from betterhalf.worker.writing import EventWriter


NARROW = ("float16", "bfloat16")
NOT_REPEATED = "metrics-in-16-bit"


class MetricsRecomputer:
    """Repeats the evaluations whose metrics were computed on 16-bit outputs.

    Args:
        keras: the imported module.
        instructions: of this trial; short trials judge no accuracy and repeat nothing.
        sightings: which dtypes a model was seen to return.
        writer: where events go.

    Attributes:
        is_repeating: an `evaluate` that comes by is ours.
    """

    def __init__(
        self,
        keras: Any,
        instructions: Instructions,
        sightings: Sightings,
        writer: EventWriter,
    ):
        self.is_repeating = False
        self._keras = keras
        self._instructions = instructions
        self._sightings = sightings
        self._writer = writer
        self._validation: tuple[Any, dict[str, Any]] | None = None

    def remember_validation(self, model: Any, arguments: dict[str, Any]) -> None:
        """A `fit` validates: the last time counts."""
        self._validation = (model, dict(arguments))

    def repeat_validation(self, ordinal: int, model: Any) -> None:
        """A `fit` has ended; tells what its last validation is in float32."""
        validation, self._validation = self._validation, None
        if validation is None or validation[0] is not model:
            return
        metrics = self.repeat(*validation)
        if metrics:
            self._writer.write(
                events.ValidationRecomputed,
                ordinal=ordinal,
                metrics={f"val_{name}": value for name, value in metrics.items()},
            )

    def repeat(self, model: Any, arguments: dict[str, Any]) -> dict[str, float]:
        """Returns the metrics of an `evaluate` in float32; empty where they were."""
        narrow = set(NARROW) & set(self._sightings.output_dtypes(model))
        if self._instructions.short or not narrow:
            return {}
        self.is_repeating = True
        try:
            return recompute_metrics(self._keras, model, arguments)
        except Exception as error:  # data and metrics are the script's own
            note = _say_not_repeated(model, narrow, error)
            self._writer.write(events.Noted, note=note)
            return {}
        finally:
            self.is_repeating = False


def _say_not_repeated(model: Any, narrow: Iterable[str], error: Exception) -> Note:
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    return Note(
        code=NOT_REPEATED,
        text=f"the metrics of {model.name} are computed on {' and '.join(narrow)} "
        f"outputs and could not be computed again in float32: {reason}",
        todo='give the last layer dtype="float32"',
    )


def recompute_metrics(
    keras: Any, model: Any, arguments: dict[str, Any]
) -> dict[str, float]:
    """Evaluates a model once more, with its outputs cast to float32 for the metrics.

    The model is left as it was found, its metrics' states included.

    Args:
        keras: the imported module.
        model: compiled and trained.
        arguments: of the `evaluate` that is repeated, by name.

    Returns:
        The metrics by name, `loss` included.

    Raises:
        ValueError: the data can be gone over once only.
    """
    if hasattr(arguments.get("x"), "__next__"):
        raise ValueError("the data can be gone over once only")
    names = ("x", "y", "batch_size", "sample_weight", "steps")
    repeated = {name: arguments[name] for name in names if name in arguments}
    with _unchanged_state(keras, model), _float32_outputs(keras, model):
        return read_logs(model.evaluate(**repeated, verbose=0, return_dict=True))


@contextmanager
def _float32_outputs(keras: Any, model: Any) -> Iterator[None]:
    """Casts what the metrics get; the model's own code computes them as before."""
    original = model.compute_metrics

    def compute_metrics(
        x: Any, y: Any, y_pred: Any, sample_weight: Any = None
    ) -> dict[str, Any]:
        widened = keras.tree.map_structure(lambda each: _widen(keras, each), y_pred)
        return original(x, y, widened, sample_weight)

    step = model.test_step

    def test_step(*args: Any, **kwargs: Any) -> Any:
        # a function of its own: JAX remembers what it traced by the function
        return step(*args, **kwargs)

    compiled = model.test_function
    object.__setattr__(model, "compute_metrics", compute_metrics)
    object.__setattr__(model, "test_step", test_step)
    model.test_function = None  # it is traced again, with the cast
    try:
        yield
    finally:
        object.__delattr__(model, "compute_metrics")
        object.__delattr__(model, "test_step")
        model.test_function = compiled


def _widen(keras: Any, tensor: Any) -> Any:
    dtype = getattr(tensor, "dtype", None)
    if dtype is None or keras.backend.standardize_dtype(dtype) not in NARROW:
        return tensor
    return keras.ops.cast(tensor, "float32")


@contextmanager
def _unchanged_state(keras: Any, model: Any) -> Iterator[None]:
    """Puts metrics and non-trainable state back, as after the script's `evaluate`."""
    variables = [*model.metrics_variables, *model.non_trainable_variables]
    before = [keras.ops.convert_to_numpy(variable).copy() for variable in variables]
    try:
        yield
    finally:
        for variable, value in zip(variables, before, strict=True):
            variable.assign(value)
