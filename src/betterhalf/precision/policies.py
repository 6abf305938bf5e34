"""The Keras dtype policies that a trial can run under, and the names people type.

A typo must be told before a training of hours starts, so the names are listed here
instead of being tried in a child. Dtypes are spelled as Keras spells them.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Final, NamedTuple

from betterhalf.errors import UsageError


class PolicyDtypes(NamedTuple):
    """What a layer under a policy computes in, and what it keeps its weights in."""

    compute: str
    variable: str


REFERENCE_POLICY: Final = "float32"
"""The policy that every other one is judged against."""

POLICIES: Final[dict[str, PolicyDtypes]] = {
    "float32": PolicyDtypes(compute="float32", variable="float32"),
    "mixed_bfloat16": PolicyDtypes(compute="bfloat16", variable="float32"),
    "mixed_float16": PolicyDtypes(compute="float16", variable="float32"),
    "bfloat16": PolicyDtypes(compute="bfloat16", variable="bfloat16"),
    "float16": PolicyDtypes(compute="float16", variable="float16"),
    "float64": PolicyDtypes(compute="float64", variable="float64"),
}
"""Every policy that an arm may name, as Keras 3 resolves it."""

ALIASES: Final = {
    "16-mixed": "mixed_float16",
    "bf16-mixed": "mixed_bfloat16",
    "32-true": "float32",
}
"""What users of Lightning type."""

_SIXTEEN_BIT: Final = ("float16", "bfloat16")


def resolve_policy(text: str) -> str:
    """Returns the Keras name of the policy that `text` names.

    ```python
    resolve_policy("bf16-mixed")  # "mixed_bfloat16"
    ```

    Raises:
        UsageError: there is no such policy; the message names the nearest one.
    """
    policy = ALIASES.get(text, text)
    if policy in POLICIES:
        return policy
    near = get_close_matches(text.lower(), [*POLICIES, *ALIASES], n=1)
    guess = f" Did you mean '{near[0]}'?" if near else ""
    raise UsageError(
        f"Expected a dtype policy of {', '.join(POLICIES)}. Received: '{text}'.{guess}"
    )


def computes_in_16_bit(policy: str) -> bool:
    """Tells whether layers under `policy` compute in float16 or bfloat16."""
    return POLICIES[policy].compute in _SIXTEEN_BIT


def needs_loss_scaling(policy: str) -> bool:
    """Tells whether gradients under `policy` can underflow for want of exponent bits.

    True for float16 (least normal number 6e-5); bfloat16 has the exponent of float32.
    """
    return POLICIES[policy].compute == "float16"
