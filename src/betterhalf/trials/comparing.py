"""The main job: does mixed precision help this training, on this machine?

Planned whole, run trial by trial, judged from what is on the disk. `compare` is the
public face; `conduct` returns everything that came of it, for whoever writes reports.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import msgspec

from betterhalf.editing.enabling import show_policy_edit
from betterhalf.hardware.facts import read_environment
from betterhalf.records.plan import Plan
from betterhalf.records.result import Result
from betterhalf.trials.choosing import refuse_absent_backend
from betterhalf.trials.observing import NoObserver, Observer
from betterhalf.trials.planning import DEFAULT_ARMS, make_plan
from betterhalf.trials.programs import Program, find_program
from betterhalf.trials.reading import Experiment, read_experiment
from betterhalf.trials.resuming import find_store, new_store, resume_plan
from betterhalf.trials.store import Store


if TYPE_CHECKING:
    from betterhalf.trials.executors import AbstractExecutor


_PACKAGES: Final = (
    "betterhalf",
    "keras",
    "tensorflow",
    "tensorflow-cpu",
    "tf_keras",
    "jax",
    "jaxlib",
    "torch",
    "numpy",
)
"""Distributions that can change a result."""


def compare(
    script: str | Path,
    arguments: Sequence[str] = (),
    *,
    module: bool = False,
    arms: str | Iterable[str] = DEFAULT_ARMS,
    backend: str | None = None,
    runs: int = 3,
    max_runs: int | None = None,
    epochs: int | None = None,
    steps: int | None = None,
    metric: str | None = None,
    mode: Literal["min", "max"] | None = None,
    margin: float | None = None,
    min_speedup: float = 1.05,
    quick: bool = False,
    budget: float | None = None,
    trial_timeout: float | None = None,
    keep_seeds: bool = False,
    out: str | Path | None = None,
    resume: bool = False,
    observer: Observer | None = None,
) -> Result:
    """Trains a script under several precisions and says which is worth it.

    Each trial is a process that runs the script as it is. Samples of all trials stay in
    the run store, and `betterhalf.read` reads them.

    ```python
    result = betterhalf.compare("train.py", ["--batch", "64"], quick=True)
    result.arms[-1].sentence
    ```

    Args:
        script: path of the user's script, or name of a module.
        arguments: the script's own.
        module: `script` is a module, as in `python -m`.
        arms: what is compared with float32, each `POLICY[@BACKEND][+raw]`.
        backend: of arms that name none; as Keras would choose if absent.
        runs: trials per arm at the first look.
        max_runs: trials per arm at the second look; 10, or `runs` if that is more.
        epochs: cap of every `fit`, in epochs; verdicts are on speed alone.
        steps: cap of every `fit`, in steps; verdicts are on speed alone.
        metric: name of the metric that accuracy is judged by; found if absent.
        mode: `max` where more of it is better; found if absent.
        margin: what "equally accurate" means, in the metric's unit.
        min_speedup: what "worth it" means.
        quick: short trials alone: speed and memory, no accuracy.
        budget: wall-clock limit of this call, in seconds.
        trial_timeout: wall-clock limit of a trial, in seconds.
        keep_seeds: every trial keeps the script's seeds.
        out: the run store; `.betterhalf/<script>-<time>` if absent.
        resume: go on with the run store `out`, or with the newest of this script.
        observer: is told what happens; nobody is if absent.

    Returns:
        One entry an arm, with a verdict and a sentence. `exit_code` is 4 if the
        reference failed; its entry has the failure.

    Raises:
        UsageError: the script or an option cannot be used. If that shows before the
            first trial, nothing was written.
        KeyboardInterrupt: Ctrl-C; what had ended is kept, and `resume` goes on.
    """
    experiment = conduct(
        script,
        arguments,
        module=module,
        out=out,
        resume=resume,
        observer=observer,
        arms=arms,
        backend=backend,
        runs=runs,
        max_runs=max_runs,
        epochs=epochs,
        steps=steps,
        metric=metric,
        mode=mode,
        margin=margin,
        min_speedup=min_speedup,
        quick=quick,
        budget=budget,
        trial_timeout=trial_timeout,
        keep_seeds=keep_seeds,
    )
    return cast("Result", experiment.result)  # `conduct` has judged


def conduct(
    script: str | Path,
    arguments: Sequence[str] = (),
    *,
    module: bool = False,
    out: str | Path | None = None,
    resume: bool = False,
    observer: Observer | None = None,
    executor: AbstractExecutor | None = None,
    **options: Any,
) -> Experiment:
    """Compares as `compare` does and returns everything that came of it.

    Args:
        script: as in `compare`.
        arguments: as in `compare`.
        module: as in `compare`.
        out: as in `compare`.
        resume: as in `compare`.
        observer: as in `compare`.
        executor: an `AbstractExecutor`; one on this machine if absent.
        options: the other options of `compare`, by name.

    Returns:
        The experiment with its result, which is written too.
    """
    watching = NoObserver() if observer is None else observer
    program = find_program(script, arguments, module=module)
    edit = partial(show_policy_edit, name=program.path_shown)
    # what a user got wrong in an option is told before NVML and scipy are loaded
    plan = make_plan(program, edit=edit, **options)
    environment = read_environment(_PACKAGES)
    device = environment.devices[0].name if environment.devices else None
    plan = _with_device(plan, device)
    if resume:
        store = find_store(out, plan, program.folder)
        default = _with_device(make_plan(program), device)
        with store.locked():
            stored = resume_plan(store.read_plan(), plan, default)
            return _carry_out(stored, program, store, executor, watching)
    store = new_store(out, plan.script, program.folder)
    with store.locked():
        store.write_plan(plan, environment)
        return _carry_out(plan, program, store, executor, watching)


def judge_again(folder: str | Path) -> Experiment:
    """Judges the trials of a run store, writes its result and returns the whole.

    Raises:
        StoreError: it is no run store, damaged, or from a newer release.
    """
    # a second of scipy that reading alone does not need
    from betterhalf.judging import judge  # noqa: PLC0415

    store = Store(Path(folder))
    plan = store.read_plan()
    store.write_result(judge(plan, store.read_trials(plan)))
    return read_experiment(folder)


def _carry_out(
    plan: Plan,
    program: Program,
    store: Store,
    executor: AbstractExecutor | None,
    observer: Observer,
) -> Experiment:
    for backend in dict.fromkeys(arm.backend for arm in plan.arms):
        refuse_absent_backend(backend)
    # scipy takes most of a second to load, which a mistake in an option should not wait
    from betterhalf.trials.executors import LocalExecutor  # noqa: PLC0415
    from betterhalf.trials.experiment import Sitting  # noqa: PLC0415

    place = _show(store.folder, program.folder)
    observer.on_plan(plan)
    observer.on_message(f"Everything is kept in {place}")
    sitting = Sitting(plan, program, store, executor or LocalExecutor(), observer)
    try:
        sitting.run()
        return judge_again(store.folder)
    except KeyboardInterrupt:
        observer.on_message(f"Interrupted. Go on with: {_spell_resume(place, program)}")
        raise


def _with_device(plan: Plan, device: str | None) -> Plan:
    return msgspec.structs.replace(plan, device=device)


def _show(place: Path, folder: Path) -> str:
    """Returns a run store as the user would type it."""
    return str(place.relative_to(folder) if place.is_relative_to(folder) else place)


def _spell_resume(place: str, program: Program) -> str:
    start = ["-m", program.given] if program.module else [program.given]
    words = ["betterhalf", "compare", "--resume", "--out", place, *start]
    return shlex.join([*words, *program.arguments])
