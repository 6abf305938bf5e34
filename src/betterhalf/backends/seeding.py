"""Where a script sets the global seeds of a library.

A table of names, so that nothing is imported to know them. A seed that a script gives
to a generator of its own (`numpy.random.default_rng(0)`, `jax.random.key(0)`) is not
here: it fixes the data, which is what the user meant.
"""

from __future__ import annotations


SEED_FUNCTIONS: dict[str, tuple[tuple[str, str], ...]] = {
    "random": (("", "seed"),),
    "keras": (("utils", "set_random_seed"),),
    "numpy": (("random", "seed"),),
    "tensorflow": (
        ("random", "set_seed"),
        ("compat.v1.random", "set_random_seed"),
        ("compat.v1", "set_random_seed"),
    ),
    "torch": (("", "manual_seed"), ("random", "manual_seed"), ("cuda", "manual_seed")),
}
"""Module → (path of the owner inside it, name of the function)."""
