from __future__ import annotations

import pytest

from betterhalf.errors import UsageError
from betterhalf.precision.policies import (
    ALIASES,
    POLICIES,
    computes_in_16_bit,
    needs_loss_scaling,
    resolve_policy,
)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_policy_of_keras_keeps_its_name(policy: str) -> None:
    assert resolve_policy(policy) == policy


@pytest.mark.parametrize(("alias", "policy"), ALIASES.items())
def test_an_alias_becomes_a_policy_of_keras(alias: str, policy: str) -> None:
    assert resolve_policy(alias) == policy
    assert policy in POLICIES


def test_a_typo_is_answered_with_the_nearest_policy() -> None:
    with pytest.raises(UsageError, match=r"Received: 'mixed_fp16'.*'mixed_float16'"):
        resolve_policy("mixed_fp16")


@pytest.mark.parametrize("text", ["", "auto", "MIXED", "float8"])
def test_an_unknown_policy_is_refused_with_the_known_ones(text: str) -> None:
    with pytest.raises(UsageError, match="mixed_bfloat16") as caught:
        resolve_policy(text)
    assert f"Received: '{text}'" in str(caught.value)


def test_only_float16_needs_loss_scaling() -> None:
    assert {p for p in POLICIES if needs_loss_scaling(p)} == {
        "float16",
        "mixed_float16",
    }


def test_a_mixed_policy_computes_in_16_bit_and_keeps_float32_weights() -> None:
    mixed = {p for p in POLICIES if p.startswith("mixed_")}
    assert all(computes_in_16_bit(p) for p in mixed)
    assert {POLICIES[p].variable for p in mixed} == {"float32"}
    assert not computes_in_16_bit("float32")
    assert not computes_in_16_bit("float64")
