from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betterhalf.errors import UsageError
from betterhalf.precision.arms import BACKENDS, parse_arm, parse_arms, spell_slug
from betterhalf.precision.policies import ALIASES, POLICIES


policies = st.sampled_from([*POLICIES, *ALIASES])
backends = st.sampled_from(BACKENDS)


def names(text: str, backend: str = "jax") -> list[str]:
    return [arm.name for arm in parse_arms(text, backend)]


@given(policies, st.none() | backends, st.booleans(), backends)
def test_a_name_reads_back_as_the_same_arm(
    policy: str, backend: str | None, raw: bool, default: str
) -> None:
    text = policy + (f"@{backend}" if backend else "") + ("+raw" if raw else "")
    arm = parse_arm(text, default)
    assert parse_arm(arm.name, default) == arm
    assert arm.policy in POLICIES
    assert arm.backend == backend or backend is None
    assert arm.raw == raw


@given(policies, backends, st.booleans(), backends)
def test_a_slug_is_safe_in_a_file_name(
    policy: str, backend: str, raw: bool, default: str
) -> None:
    arm = parse_arm(f"{policy}@{backend}{'+raw' if raw else ''}", default)
    assert set(arm.slug) <= set(string.ascii_lowercase + string.digits + "_-")


@given(st.text(alphabet="float32mixed_16b@+raw#:=, ", max_size=30))
def test_any_text_is_an_arm_or_a_usage_error(text: str) -> None:
    try:
        parsed = parse_arms(text, "torch")
    except UsageError:
        return
    assert len({arm.name for arm in parsed}) == len(parsed)
    assert len({arm.slug for arm in parsed}) == len(parsed)


def test_the_reference_is_added_in_front() -> None:
    arms = parse_arms("mixed_bfloat16,mixed_float16", "tensorflow")
    assert [arm.name for arm in arms] == ["float32", "mixed_bfloat16", "mixed_float16"]
    assert [arm.is_reference for arm in arms] == [True, False, False]
    assert {arm.backend for arm in arms} == {"tensorflow"}


def test_a_reference_that_is_named_is_not_added_twice() -> None:
    assert names("mixed_bfloat16,float32") == ["float32", "mixed_bfloat16"]


def test_each_backend_has_its_own_reference() -> None:
    assert names("mixed_float16@torch,mixed_float16") == [
        "float32@torch",
        "float32",
        "mixed_float16@torch",
        "mixed_float16",
    ]


def test_a_raw_arm_is_judged_against_the_plain_reference() -> None:
    arms = parse_arms("mixed_float16+raw", "jax")
    assert [(arm.name, arm.raw) for arm in arms] == [
        ("float32", False),
        ("mixed_float16+raw", True),
    ]


def test_the_reference_alone_is_a_control() -> None:
    reference, control = parse_arms("float32", "jax")
    assert (reference.name, reference.is_reference) == ("float32", True)
    assert (control.name, control.is_reference) == ("float32#2", False)
    assert (control.control, control.slug) == (2, "float32-control2")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("float32#2", ["float32", "float32#2"]),
        ("float32,float32", ["float32", "float32#2"]),
        ("32-true,float32", ["float32", "float32#2"]),
        ("float32,float32,float32", ["float32", "float32#2", "float32#3"]),
        ("float32,float32#2,float32", ["float32", "float32#2", "float32#3"]),
        (
            "mixed_bfloat16,float32,float32",
            ["float32", "mixed_bfloat16", "float32#2"],
        ),
        (
            "mixed_bfloat16,float32@torch",
            ["float32", "float32@torch", "mixed_bfloat16", "float32@torch#2"],
        ),
    ],
)
def test_the_reference_named_again_is_a_control(text: str, expected: list[str]) -> None:
    assert names(text) == expected


def test_the_default_backend_is_left_out_of_a_name() -> None:
    assert parse_arm("mixed_float16@jax", "jax") == parse_arm("mixed_float16", "jax")


@pytest.mark.parametrize(
    "text",
    [
        "mixed_float16,mixed_float16",
        "mixed_float16,16-mixed",
        "mixed_float16,mixed_float16@jax",
        "mixed_float16+raw,mixed_float16+raw+raw",
        "float32#2,float32#2",
    ],
)
def test_two_equal_arms_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="twice"):
        parse_arms(text, "jax")


@pytest.mark.parametrize("text", ["", " ", ",", " , "])
def test_no_arm_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="at least one arm"):
        parse_arms(text, "jax")


@pytest.mark.parametrize(
    "text",
    ["mixed_float16+jit", "mixed_float16+batch=256", "plan:precision.json"],
)
def test_what_is_not_there_yet_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(UsageError, match="not there yet"):
        parse_arm(text, "jax")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("mixed_float16@numpy", "tensorflow, jax, torch"),
        ("mixed_float16@", "POLICY"),
        ("@jax", "POLICY"),
        ("mixed_float16+fast", "POLICY"),
        ("mixed_float16+", "POLICY"),
        ("mixed_float16#2", "reference alone"),
        ("float32+raw#2", "reference alone"),
        ("float32#1", "from 2"),
        ("float32#", "from 2"),
        ("mixed_flaot16", "mixed_float16"),
    ],
)
def test_a_bad_arm_is_told_what_was_expected(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told) as caught:
        parse_arm(text, "jax")
    assert "Received: " in str(caught.value)


def test_names_and_slugs_differ_together() -> None:
    every = [
        parse_arm(f"{policy}@{backend}{raw}", "jax").name
        for policy in POLICIES
        for backend in BACKENDS
        for raw in ("", "+raw")
    ]
    assert len({spell_slug(name) for name in every}) == len(set(every)) == len(every)
