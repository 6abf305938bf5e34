"""Records made by hand, small enough to be read."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from betterhalf.records.arm import Arm
from betterhalf.records.environment import Device, Environment
from betterhalf.records.plan import Limits, Plan, Slot
from betterhalf.records.result import (
    ArmResult,
    Caveat,
    Diagnosis,
    Estimate,
    MemoryComparison,
    Result,
    Speedup,
    TrialCounts,
)
from betterhalf.records.timeline import Series, Timeline
from betterhalf.records.training import (
    Checks,
    Epoch,
    LayerDtypes,
    Memory,
    Training,
    Window,
)
from betterhalf.records.trial import Failure, Repair, Trial


GIB = 1024**3
ARMS = ("float32", "mixed_bfloat16", "mixed_float16")
STEP_SECONDS = {"float32": 0.0638, "mixed_bfloat16": 0.0412, "mixed_float16": 1.91}
DIFF = """\
--- train.py
+++ train.py
@@ -1,2 +1,3 @@
 import keras
+keras.config.set_dtype_policy("mixed_bfloat16")
 model = keras.Sequential()
"""


def make_environment() -> Environment:
    return Environment(
        python="3.11.7",
        platform="Linux-x86_64",
        cores=2,
        memory_bytes=8 * GIB,
        packages={"keras": "3.15.1", "tensorflow": "2.21.0"},
        devices=(Device(kind="cpu", name="Example CPU", flags=("avx512_bf16",)),),
        variables={"KERAS_BACKEND": "tensorflow"},
    )


def make_timeline(peak: float) -> Timeline:
    return Timeline(
        seconds=(0.0, 0.25, 0.5),
        series=(
            Series(
                name="process_rss_bytes",
                values=(peak / 2, float("nan"), peak),
                mean=0.75 * peak,
                maximum=peak,
            ),
            Series(
                name="cpu_percent",
                values=(90.0, 180.0, 195.0),
                mean=155.0,
                maximum=195.0,
            ),
        ),
        samples_taken=3,
        missing=("NVML: no driver",),
    )


def make_trial(
    arm: str, number: int, /, *, windows: int = 4, **changes: object
) -> Trial:
    step = STEP_SECONDS.get(arm, 0.05) * (1 + 0.01 * number)
    training = Training(
        ordinal=0,
        kind="fit",
        model="sequential",
        planned_epochs=2,
        steps_per_epoch=10 * windows,
        batch_size=128,
        startup_seconds=4.2,
        first_step_at_seconds=9.5,
        seconds=2 * windows * 10 * step,
        steps=20 * windows,
        windows=tuple(
            Window(epoch=epoch, steps=10, seconds=10 * step, steady=epoch > 0)
            for epoch in range(2)
            for _ in range(windows)
        ),
        epochs=tuple(
            Epoch(
                index=index,
                seconds=windows * 10 * step + 0.5,
                train_seconds=windows * 10 * step,
                steps=10 * windows,
                complete=True,
                logs={"loss": 1.0 / (index + 1)},
            )
            for index in range(2)
        ),
    )
    peak = int((0.9 if arm == "float32" else 0.6) * GIB)
    fields: dict[str, object] = {
        "arm": arm,
        "number": number,
        "stage": 1,
        "outcome": "finished",
        "exit_code": 0,
        "seconds": 30.0 + number,
        "environment": make_environment(),
        "trainings": (training,),
        "judged": 0,
        "memory": Memory(peak_bytes=peak, kind="resident"),
        "timeline": make_timeline(float(peak)),
    }
    return Trial(**(fields | changes))  # type: ignore[arg-type]


def make_failed_trial(arm: str, number: int, message: str) -> Trial:
    return make_trial(
        arm,
        number,
        outcome="crashed",
        exit_code=1,
        trainings=(),
        judged=None,
        memory=None,
        timeline=None,
        failure=Failure(
            kind="ValueError",
            message=message,
            traceback=f'Traceback:\n  File "train.py"\n{message}',
        ),
        log_tail=f"epoch 1\n{message}\n",
    )


def make_checks(policy: str) -> Checks:
    compute = policy.removeprefix("mixed_")
    return Checks(
        global_policy=policy,
        model_policy=policy,
        layers=9,
        layers_computing_16bit=0 if policy == "float32" else 8,
        middle_layer=LayerDtypes(path="conv2d_1", compute=compute, variable="float32"),
        output_dtypes=("float32",),
        optimizer="Adam",
        loss_scaled=policy == "mixed_float16",
        wrapped=policy == "mixed_float16",
        end_scale=32768.0 if policy == "mixed_float16" else None,
        applied_steps=80,
        skipped_steps=1 if policy == "mixed_float16" else None,
    )


def make_arm_result(arm: str, /, **changes: object) -> ArmResult:
    step = STEP_SECONDS.get(arm, 0.05)
    ratio = STEP_SECONDS["float32"] / step
    word = {"float32": "reference", "mixed_float16": "revert"}.get(arm, "speed-only")
    fields: dict[str, object] = {
        "arm": arm,
        "reference": "float32",
        "verdict": word,
        "sentence": f"{arm} trains {ratio:.2f} times as fast as float32.",
        "step_seconds": Estimate(estimate=step, low=step * 0.99, high=step * 1.02),
        "epoch_seconds": Estimate(estimate=40 * step, low=39 * step, high=41 * step),
        "startup_seconds": Estimate(estimate=4.2, low=4.0, high=4.4),
        "samples_per_second": 128 / step,
        "memory": MemoryComparison(
            peak_bytes=int((0.9 if arm == "float32" else 0.6) * GIB),
            ratio=None if arm == "float32" else 0.667,
            kind="resident",
        ),
        "trials": TrialCounts(finished=3),
        "checks": make_checks(arm),
    }
    if arm != "float32":
        fields["speedup"] = Speedup(
            estimate=ratio,
            low=ratio * 0.974,
            high=ratio * 1.019,
            level=0.95,
            look=3,
            basis="step",
        )
    if arm == "mixed_float16":
        fields["repairs"] = (
            Repair(
                code="loss-scaling",
                where="Adam",
                before="Adam",
                after="LossScaleOptimizer",
                reason="float16 gradients underflow without a loss scale",
            ),
        )
        fields["diagnosis"] = (
            Diagnosis(
                code="emulated-float16",
                text="This CPU has no float16 arithmetic.",
                share=0.93,
                todo="Use mixed_bfloat16 here.",
            ),
        )
        fields["caveats"] = (
            Caveat(
                code="spreads-differ",
                text="Its spread is 4 times that of float32.",
                todo="betterhalf compare --runs 5 narrows the interval.",
            ),
        )
    return ArmResult(**(fields | changes))  # type: ignore[arg-type]


def make_plan(names: tuple[str, ...] = ARMS, /, **changes: object) -> Plan:
    fields: dict[str, object] = {
        "script": "train.py",
        "module": False,
        "script_hash": "0" * 64,
        "arguments_hash": "1" * 64,
        "arms": tuple(
            Arm(
                name=name,
                slug=f"arm-{place}",
                policy=name,
                backend="tensorflow",
                is_reference=place == 0,
            )
            for place, name in enumerate(names)
        ),
        "order": tuple(
            Slot(arm=name, number=number) for number in (1, 2, 3) for name in names
        ),
        "quick": True,
        "limits": Limits(looks=(3,)),
        "device": "Example CPU",
    }
    return Plan(**(fields | changes))  # type: ignore[arg-type]


def make_result(names: tuple[str, ...] = ARMS, /, **changes: object) -> Result:
    fields: dict[str, object] = {
        "script": "train.py",
        "complete": True,
        "arms": tuple(make_arm_result(name) for name in names),
        "diff": DIFF,
        "exit_code": 0,
    }
    return Result(**(fields | changes))  # type: ignore[arg-type]


def make_trials(arms: tuple[str, ...] = ARMS) -> list[Trial]:
    return [make_trial(name, number) for number in (1, 2, 3) for name in arms]


@pytest.fixture(scope="session")
def make() -> SimpleNamespace:
    """The functions above, by what they make."""
    return SimpleNamespace(
        arms=ARMS,
        plan=make_plan,
        trial=make_trial,
        failed_trial=make_failed_trial,
        trials=make_trials,
        arm_result=make_arm_result,
        result=make_result,
        checks=make_checks,
    )


@pytest.fixture
def plan() -> Plan:
    return make_plan()


@pytest.fixture
def trials() -> list[Trial]:
    return make_trials()


@pytest.fixture
def result() -> Result:
    return make_result()
