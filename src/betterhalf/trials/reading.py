"""Reads what an experiment left behind: a whole run store, or one file of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from betterhalf.errors import StoreError
from betterhalf.records import codec
from betterhalf.records.environment import Environment
from betterhalf.records.plan import Plan
from betterhalf.records.result import Result
from betterhalf.records.trial import Trial
from betterhalf.trials.store import Store


@dataclass(frozen=True, kw_only=True, slots=True)
class Experiment:
    """Everything that a run store holds.

    Attributes:
        folder: of the store.
        plan: as it was written before the first trial.
        trials: those that have ended, in the order of the plan.
        result: what was judged of them; absent before that.
        environment: of the machine when the plan was made.
    """

    folder: Path
    plan: Plan
    trials: tuple[Trial, ...]
    result: Result | None
    environment: Environment | None


_FORMS: Final[dict[str, type[Plan | Trial | Result]]] = {
    "plan": Plan,
    "trial": Trial,
    "result": Result,
}


def read(path: str | Path) -> Experiment | Plan | Trial | Result:
    """Returns the records at `path`.

    ```python
    experiment = betterhalf.read(".betterhalf/train-20260101-120000")
    [trial.outcome for trial in experiment.trials]
    ```

    Args:
        path: a run store, or one of its JSON files.

    Returns:
        An `Experiment` for a folder; for a file the record that it holds.

    Raises:
        StoreError: nothing that betterhalf wrote, damaged, or from a newer release.
    """
    place = Path(path)
    if place.is_dir():
        return read_experiment(place)
    if not place.exists():
        raise StoreError(
            f"Expected a run store or one of its files. Received: '{path}', which does "
            "not exist."
        )
    content = place.read_bytes()
    kind = codec.read_kind(content, place.name)
    if kind not in _FORMS:
        raise StoreError(
            f"{place.name}: expected a record of {', '.join(_FORMS)}. Received: "
            f"'{kind}'."
        )
    return codec.decode_file(content, kind, _FORMS[kind], place.name)


def read_experiment(folder: str | Path) -> Experiment:
    """Returns everything that the run store in `folder` holds.

    Raises:
        StoreError: it is no run store, damaged, or from a newer release.
    """
    store = Store(Path(folder))
    plan = store.read_plan()
    return Experiment(
        folder=store.folder,
        plan=plan,
        trials=tuple(store.read_trials(plan)),
        result=store.read_result(),
        environment=store.read_environment(),
    )
