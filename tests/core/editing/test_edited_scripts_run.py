"""Edited scripts of many shapes, run on a Keras that notes policies and dtypes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from betterhalf.editing.enabling import enable_policy


# import lines; how the script then writes layers, models and the rest of Keras
IMPORTS = [
    ("import keras\n", "keras.layers.", "keras.", "keras."),
    (
        """\
import keras as k
from keras import layers
""",
        "layers.",
        "k.models.",
        "k.",
    ),
    ("from tensorflow import keras\n", "keras.layers.", "keras.", "keras."),
    ("import tensorflow as tf\n", "tf.keras.layers.", "tf.keras.", "tf.keras."),
    (
        """\
import tensorflow as tf
keras = tf.keras
""",
        "keras.layers.",
        "keras.",
        "keras.",
    ),
    ("import tensorflow.keras as tk\n", "tk.layers.", "tk.", "tk."),
    ("import tf_keras\n", "tf_keras.layers.", "tf_keras.models.", "tf_keras."),
    (
        "from keras import backend, config, layers, models, utils, Input\n",
        "layers.",
        "models.",
        "",
    ),
    (
        """\
from tensorflow.keras.layers import Dense, Activation
from tensorflow.keras.models import Sequential, Model
from tensorflow.keras import Input, backend, config, utils
""",
        "",
        "",
        "",
    ),
]
PRELUDES = [
    "",
    '"""Trains."""\n',
    """\
#!/usr/bin/env python
# a script

from __future__ import annotations
import os
os.environ['SOME'] = 'thing'
""",
]
SETTINGS = [
    "",
    "{root}utils.set_random_seed(1)\n",
    """\
{root}utils.set_random_seed(1)
{root}backend.clear_session()
""",
    """\
{root}utils.clear_session()
{root}config.set_dtype_policy('mixed_float16')
""",
    """\
{root}config.set_dtype_policy('mixed_float16')
{root}utils.clear_session()
""",
    """\
if False:
    {root}config.set_dtype_policy('float32')
""",
    """\
def unused():
    return {layers}Dense(3)


""",
]
MODELS = [
    """\
model = {models}Sequential([{layers}Dense(4), {head}])
model.compile('adam')
""",
    """\
model = {models}Sequential(layers=(
    {layers}Dense(4),
    {head},
))
model.compile()
""",
    """\
model = {models}Sequential()
model.add({layers}Dense(4))
model.add({head})
model.compile()
""",
    """\
i = {root}Input((2,))
x = {layers}Dense(4)(i)
x = {head}(x)
model = {models}Model(i, x)
model.compile()
""",
    """\
i = {root}Input((2,))
a = {head}(i)
b = {head}({layers}Dense(4)(i))
model = {models}Model(inputs=i, outputs=[a, b])
model.compile()
""",
    """\
def build(n):
    return {models}Sequential([{layers}Dense(n), {head}])


def main():
    net = build(3)
    net.compile()


if __name__ == '__main__':
    main()
""",
    """\
def build():
    i = {root}Input((2,))
    out = {head}({layers}Dense(4)(i))
    model = {models}Model(i, out)
    model.compile()
    return model


build()
""",
    """\
base = {models}Sequential([{layers}Dense(4)])
model = {models}Sequential([base, {layers}Dense(4)])
model.add({head})
model.compile()
""",
]
HEADS = [
    "{layers}Dense(2)",
    "{layers}Dense(2, name='head')",
    "{layers}Dense(\n    2,\n    name='head',\n)",
    "{layers}Dense(2, dtype='float32')",
]


@settings(deadline=None)
@given(
    imports=st.sampled_from(IMPORTS),
    prelude=st.sampled_from(PRELUDES),
    setting=st.sampled_from(SETTINGS),
    shape=st.sampled_from(MODELS),
    head=st.sampled_from(HEADS),
    policy=st.sampled_from(["mixed_bfloat16", "mixed_float16"]),
    newline=st.sampled_from(["\n", "\r\n"]),
)
def test_every_layer_is_made_under_the_policy_and_every_output_is_float32(
    make_fake_keras, imports, prelude, setting, shape, head, policy, newline
):
    lines, layers, models, root = imports
    words = {"layers": layers, "models": models, "root": root}
    words["head"] = head.format(**words)
    text = prelude + lines + "\n" + setting.format(**words) + shape.format(**words)
    source = text.replace("\n", newline).encode()

    edited = enable_policy(source, policy)

    assert edited is not None
    assert enable_policy(edited, policy) == edited
    keras = make_fake_keras()
    with pytest.MonkeyPatch.context() as patch:
        keras.install(patch)
        exec(compile(edited, "edited.py", "exec"), {"__name__": "__main__"})
    assert keras.layers
    assert {layer.dtype for layer in keras.layers} <= {policy, "float32"}
    assert [layer.dtype for layer in keras.layers].count(policy) >= 1
    assert len(keras.compiled) == 1
    outputs = keras.compiled[0].output_dtypes()
    assert outputs
    assert set(outputs) == {"float32"}
