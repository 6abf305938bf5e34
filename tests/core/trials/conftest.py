"""A laboratory without children: programs, events, and an executor that starts none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from betterhalf.records import codec, events
from betterhalf.records.instructions import Instructions
from betterhalf.records.plan import Slot
from betterhalf.records.training import Epoch, Window
from betterhalf.records.trial import Trial
from betterhalf.trials import choosing
from betterhalf.trials.endings import Ending
from betterhalf.trials.executors import AbstractExecutor
from betterhalf.trials.observing import Observer
from betterhalf.trials.planning import make_plan
from betterhalf.trials.programs import Program, find_program
from betterhalf.trials.store import Store


@pytest.fixture(autouse=True)
def _machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """All backends are installed, nothing is configured, and the home is empty."""
    monkeypatch.setattr(choosing, "find_spec", lambda name: object())
    for name in ("KERAS_BACKEND", "KERAS_HOME"):
        monkeypatch.delenv(name, raising=False)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)


def train(
    step_seconds: float = 0.1,
    *,
    ordinal: int = 0,
    kind: str = "fit",
    at: float = 1.0,
    logs: dict[str, float] | None = None,
    planned_epochs: int | None = 5,
    cut_short: bool = True,
    **ended: Any,
) -> list[events.Event]:
    """The events of one training of 30 steps in 3 steady windows."""
    windows = [
        Window(epoch=0, steps=10, seconds=10 * step_seconds, steady=steady)
        for steady in (False, True, True, True)
    ]
    seconds = 40 * step_seconds
    epoch = Epoch(
        index=0,
        seconds=seconds,
        train_seconds=seconds,
        steps=40,
        complete=not cut_short,
        logs={"loss": 0.5, "accuracy": 0.9} if logs is None else logs,
    )
    return [
        events.TrainingBegan(
            at=at,
            ordinal=ordinal,
            kind=kind,
            model="cnn",
            planned_epochs=planned_epochs,
        ),
        events.FirstStepEnded(
            at=at + 1.0, ordinal=ordinal, startup_seconds=1.0, steps_per_epoch=100
        ),
        *[
            events.WindowClosed(at=at + 2.0 + n, ordinal=ordinal, window=window)
            for n, window in enumerate(windows)
        ],
        events.EpochEnded(at=at + 6.0, ordinal=ordinal, epoch=epoch),
        events.TrainingEnded(
            at=at + 7.0,
            ordinal=ordinal,
            seconds=7.0,
            steps=40,
            cut_short=cut_short,
            **ended,
        ),
    ]


def started() -> list[events.Event]:
    return [events.Started(at=0.0, pid=1)]


def left() -> list[events.Event]:
    return [events.Left(at=9.0)]


Script = Callable[[Instructions, int], tuple[list[events.Event], dict[str, Any]]]


class FakeExecutor(AbstractExecutor):
    """Acts as `script` says: it gets the instructions and how many ran before."""

    def __init__(self, script: Script, clock: FakeClock | None = None) -> None:
        self.script = script
        self.clock = clock
        self.instructed: list[Instructions] = []
        self.timeouts: list[float | None] = []

    def run(
        self,
        program: Program,
        files: Any,
        *,
        timeout_seconds: float | None,
        on_event: Callable[[events.Event], None],
    ) -> Ending:
        content = files.instructions.read_bytes()
        instructions = codec.decode_line(content, Instructions)
        self.instructed.append(instructions)
        self.timeouts.append(timeout_seconds)
        told, how = self.script(instructions, len(self.instructed) - 1)
        log = how.pop("log", "")
        files.log.write_bytes(log if isinstance(log, bytes) else log.encode())
        with Path(instructions.events).open("wb") as file:
            for event in told:
                file.write(codec.encode_line(event))
                on_event(event)
        ending = Ending(**{"exit_code": 0, "seconds": 9.0, **how})
        if self.clock is not None:
            self.clock.now += ending.seconds
        return ending


class FakeClock:
    """Stands still but while a trial runs."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Recorder(Observer):
    """Remembers what it was told, in order."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def on_plan(self, plan: Any) -> None:
        self.told.append(("plan", plan))

    def on_trial_began(self, slot: Slot, index: int, total: int) -> None:
        self.told.append(("began", slot, index, total))

    def on_event(self, slot: Slot, event: events.Event) -> None:
        self.told.append(("event", slot, event))

    def on_trial_ended(self, trial: Trial) -> None:
        self.told.append(("ended", trial))

    def on_expected_total(self, seconds: float) -> None:
        self.told.append(("expected", seconds))

    def on_message(self, text: str) -> None:
        self.told.append(("message", text))

    def list(self, kind: str) -> list[tuple[Any, ...]]:
        return [told[1:] for told in self.told if told[0] == kind]


class Lab:
    """What tests are made of."""

    train = staticmethod(train)
    started = staticmethod(started)
    left = staticmethod(left)
    executor = FakeExecutor
    clock = FakeClock
    recorder = Recorder

    def program(self, source: str = "import keras\n", *arguments: str) -> Program:
        Path("train.py").write_text(source)
        return find_program("train.py", arguments)

    def plan(self, program: Program | None = None, **options: Any) -> Any:
        options = {"quick": True, "arms": "mixed_bfloat16", **options}
        return make_plan(program or self.program(), **options)

    def store(self, plan: Any | None = None, name: str = "store") -> Store:
        folder = Path.cwd() / name
        folder.mkdir(exist_ok=True)
        store = Store(folder)
        if plan is not None:
            store.write_plan(plan, None)
        return store

    def trial(self, arm: str = "float32", number: int = 1, **fields: Any) -> Trial:
        fields = {"outcome": "finished", "exit_code": 0, "seconds": 9.0, **fields}
        return Trial(arm=arm, number=number, stage=fields.pop("stage", 1), **fields)

    def good(self, instructions: Instructions, _: int) -> Any:
        """A script that trains; twice as fast in 16 bit."""
        seconds = 0.1 if instructions.policy == "float32" else 0.05
        end = [] if instructions.judged is None else left()
        return [*started(), *train(seconds), *end], {}


@pytest.fixture
def lab() -> Lab:
    return Lab()
