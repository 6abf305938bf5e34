import pytest

from betterhalf.auditing.reading_code import read_code


@pytest.mark.parametrize(
    "line",
    [
        "import keras; keras.ops.cast(x)",
        "import keras as k; k.ops.cast(x)",
        "from keras import ops; ops.cast(x)",
        "from keras.ops import cast; cast(x)",
        "import tensorflow as tf; tf.keras.ops.cast(x)",
        "import tf_keras; tf_keras.ops.cast(x)",
        "import keras; ops = keras.ops; ops.cast(x)",
    ],
)
def test_a_name_is_followed_to_where_it_comes_from(line):
    code = read_code(line, "a.py")
    assert code is not None
    assert [call.target for call in code.calls] == ["keras.ops.cast"]


def test_a_name_that_was_never_imported_is_itself():
    code = read_code("ops.cast(x)", "a.py")
    assert code is not None
    assert code.calls[0].target == "ops.cast"


def test_what_is_not_python_has_no_facts():
    assert read_code("def (", "a.py") is None
