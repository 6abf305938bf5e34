from __future__ import annotations

from types import SimpleNamespace

from betterhalf.records.training import Checks
from betterhalf.reporting.checks import describe_checks


def test_the_three_checks_stand_in_one_line(make: SimpleNamespace) -> None:
    assert describe_checks(make.checks("mixed_float16")) == (
        "policy mixed_float16; 8 of 9 layers compute in 16 bit (conv2d_1: float16, "
        "variables float32); output float32; Adam with loss scaling, scale 32,768 at "
        "the end, 1 step skipped"
    )


def test_a_model_with_a_policy_of_its_own_is_told_apart() -> None:
    line = describe_checks(
        Checks(global_policy="mixed_bfloat16", model_policy="float32")
    )
    assert line == "policy mixed_bfloat16, the model's own float32"


def test_outputs_that_differ_are_all_named() -> None:
    checks = Checks(output_dtypes=("float32", "float16", "float32"))
    assert "outputs float32 and float16" in describe_checks(checks)


def test_a_wrapped_optimizer_whose_loss_nobody_scaled_stands_out() -> None:
    checks = Checks(optimizer="Adam", wrapped=True, loss_scaled=False)
    assert "which the loss never went through" in describe_checks(checks)


def test_weights_that_are_not_finite_are_named_and_the_rest_counted() -> None:
    paths = tuple(f"layer_{place}/kernel" for place in range(5))
    line = describe_checks(Checks(non_finite_state=paths))
    assert "layer_0/kernel, layer_1/kernel, layer_2/kernel and 2 more" in line


def test_nothing_seen_claims_nothing() -> None:
    assert describe_checks(Checks()) == "policy unknown"
