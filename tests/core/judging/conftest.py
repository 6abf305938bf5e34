"""A small laboratory: plans and trials with the figures that a test asks for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

from betterhalf.records.arm import Arm
from betterhalf.records.plan import Limits, Plan, Slot
from betterhalf.records.training import Epoch, Evaluation, Training, Window
from betterhalf.records.trial import Failure, Trial


class Lab:
    """Makes records; every figure that is not asked for is unremarkable."""

    def arm(self, name: str, backend: str = "tensorflow") -> Arm:
        policy = re.split("[@+#]", name, maxsplit=1)[0]
        return Arm(
            name=name,
            slug=name,
            policy=policy,
            backend=backend,
            raw="+raw" in name,
            is_reference=policy == "float32" and "#" not in name,
            control=int(name.split("#")[1]) if "#" in name else 1,
        )

    def plan(
        self,
        *names: str,
        short: int = 3,
        full: int = 0,
        arms: Sequence[Arm] | None = None,
        limits: Limits | None = None,
        **fields: Any,
    ) -> Plan:
        """A plan of `short` and `full` blocks; quick unless it has full ones."""
        if arms is None:
            arms = [self.arm(n) for n in ("float32", *(names or ("mixed_bfloat16",)))]
        order = [
            Slot(arm=arm.name, number=number, stage=stage)
            for stage, blocks in ((1, short), (2, full))
            for number in range(1, blocks + 1)
            for arm in arms
        ]
        fields.setdefault("quick", full == 0)
        return Plan(
            script="train.py",
            module=False,
            script_hash="hash",
            arguments_hash="none",
            arms=tuple(arms),
            order=tuple(order),
            limits=limits or Limits(),
            **fields,
        )

    def short(self, arm: str, number: int, seconds: float, **fields: Any) -> Trial:
        """A short trial that takes `seconds` a step."""
        windows = self.windows(seconds, fields.pop("windows", 5))
        training = Training(
            ordinal=0,
            kind="fit",
            model="cnn",
            planned_epochs=50,
            steps_per_epoch=352,
            batch_size=128,
            startup_seconds=2.0,
            first_step_at_seconds=5.0,
            seconds=2.0 + sum(window.seconds for window in windows),
            steps=sum(window.steps for window in windows),
            cut_short=True,
            windows=windows,
        )
        return self.trial(arm, number, 1, training, **fields)

    def full(
        self,
        arm: str,
        number: int,
        seconds: float,
        accuracy: float | None = None,
        **fields: Any,
    ) -> Trial:
        """A full training of five epochs that take `seconds` each."""
        samples = fields.pop("samples", 10_000)
        logs = fields.pop("logs", {"loss": 0.1 + number / 997 + seconds / 991})
        epochs = tuple(
            Epoch(
                index=index,
                seconds=seconds * (2.0 if index == 0 else 1.0),
                train_seconds=seconds * (1.9 if index == 0 else 0.9),
                steps=200,
                complete=True,
                logs=logs,
            )
            for index in range(fields.pop("epochs", 5))
        )
        windows = tuple(
            Window(
                epoch=epoch.index,
                steps=100,
                seconds=epoch.train_seconds / 2,
                steady=epoch.index > 0 or half == 1,
            )
            for epoch in epochs
            for half in (0, 1)
        )
        training = Training(
            ordinal=0,
            kind="fit",
            model="cnn",
            planned_epochs=len(epochs),
            steps_per_epoch=200,
            batch_size=128,
            startup_seconds=1.0,
            first_step_at_seconds=2.0,
            seconds=sum(epoch.seconds for epoch in epochs),
            steps=200 * len(epochs),
            windows=windows,
            epochs=epochs,
        )
        if accuracy is not None and "evaluations" not in fields:
            fields["evaluations"] = (self.evaluation({"accuracy": accuracy}, samples),)
        return self.trial(arm, number, 2, training, **fields)

    def trial(
        self, arm: str, number: int, stage: int, training: Training, **fields: Any
    ) -> Trial:
        fields.setdefault("outcome", "finished")
        fields.setdefault("trainings", (training,))
        fields.setdefault("script_hash", "hash")
        return Trial(
            arm=arm,
            number=number,
            stage=stage,
            exit_code=0,
            seconds=20.0,
            judged=0,
            **fields,
        )

    def windows(self, seconds: float, count: int = 5) -> tuple[Window, ...]:
        first = Window(epoch=0, steps=20, seconds=20 * seconds + 2.0, steady=False)
        rest = Window(epoch=0, steps=40, seconds=40 * seconds, steady=True)
        return (first, *[rest] * count)

    def evaluation(self, metrics: dict[str, float], samples: int | None = None):
        return Evaluation(
            model="cnn", after_training=0, seconds=1.0, metrics=metrics, samples=samples
        )

    def failed(self, arm: str, number: int, stage: int = 1, outcome: str = "crashed"):
        return Trial(
            arm=arm,
            number=number,
            stage=stage,
            outcome=outcome,  # pyright: ignore[reportArgumentType]
            exit_code=1,
            seconds=3.0,
            failure=Failure(kind="ValueError", message="shapes do not fit"),
        )

    def shorts(self, arm: str, seconds: Sequence[float], **fields: Any) -> list[Trial]:
        return [
            self.short(arm, number, value, **fields)
            for number, value in enumerate(seconds, start=1)
        ]

    def fulls(
        self, arm: str, seconds: Sequence[float], accuracies: Sequence[float | None]
    ) -> list[Trial]:
        pairs = zip(seconds, accuracies, strict=True)
        return [
            self.full(arm, number, value, accuracy)
            for number, (value, accuracy) in enumerate(pairs, start=1)
        ]


@pytest.fixture
def lab() -> Lab:
    return Lab()
