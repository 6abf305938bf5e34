"""What the float formats can hold: numbers that follow from IEEE 754 and bfloat16.

A format with `p` bits of significand, the implied one included, holds every whole
number up to 2**p; float16 has 11, bfloat16 has 8.
"""

from __future__ import annotations


SIXTEEN_BIT = ("float16", "bfloat16")

EXACT_INTEGERS = {"float16": 2048, "bfloat16": 256, "float32": 2**24}
"""Up to here each whole number is exact."""

LARGEST = {"float16": 65504.0, "bfloat16": (2 - 2**-7) * 2.0**127}
"""The largest finite number."""

SMALLEST = {"float16": 2.0**-24, "bfloat16": 2.0**-133}
"""The smallest number that is not zero, denormal."""

SMALLEST_NORMAL = {"float16": 2.0**-14, "bfloat16": 2.0**-126}
"""The smallest number with all of its significand."""

RESOLUTION = {"float16": 2.0**-10, "bfloat16": 2.0**-7}
"""The distance from 1 to the next number."""
