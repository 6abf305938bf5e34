"""The examples are what any user would have written, on data that is what it says."""

from pathlib import Path

import numpy as np
import pytest


EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_shipped_digits_equal_those_of_scikit_learn():
    datasets = pytest.importorskip("sklearn.datasets")
    source = datasets.load_digits()

    with np.load(EXAMPLES / "digits.npz") as digits:
        assert sorted(digits.files) == ["images", "labels"]
        assert digits["images"].dtype == digits["labels"].dtype == np.uint8
        np.testing.assert_array_equal(digits["images"], source.images)
        np.testing.assert_array_equal(digits["labels"], source.target)


def test_the_digits_carry_their_source_and_licence():
    note = (EXAMPLES / "digits-LICENSE.md").read_text(encoding="utf-8")

    for fact in ("scikit-learn", "BSD 3-Clause License", "Alpaydin", "1,797"):
        assert fact in note


@pytest.mark.parametrize(
    "example",
    [path for path in sorted(EXAMPLES.glob("*.py")) if "custom_loop" not in path.name],
    ids=lambda path: path.name,
)
def test_an_example_compiles_and_needs_neither_this_project_nor_scikit_learn(example):
    source = example.read_text(encoding="utf-8")

    compile(source, example.name, "exec")
    assert "betterhalf" not in source
    assert "sklearn" not in source
