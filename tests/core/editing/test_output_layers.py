"""Output layers that are certain get float32, laid out as the script is."""

import pytest


HEADS = {
    "one line": ("Dense(1)", 'Dense(1, dtype="float32")'),
    "no argument": ("Softmax()", 'Softmax(dtype="float32")'),
    "trailing comma": ("Dense(1,)", 'Dense(1, dtype="float32",)'),
    "a line each": (
        "Dense(\n    1,\n    name='a',\n)",
        "Dense(\n    1,\n    name='a',\n    dtype=\"float32\",\n)",
    ),
    "a comment behind each": (
        "Dense(\n    1,  # classes\n    name='a',  # last\n)",
        "Dense(\n    1,  # classes\n    name='a',  # last\n    dtype=\"float32\",\n)",
    ),
    "a comment and no trailing comma": (
        "Dense(\n    1,\n    name='a'  # last\n)",
        "Dense(\n    1,\n    name='a',  # last\n    dtype=\"float32\"\n)",
    ),
    "aligned": (
        "Dense(1,\n      name='a')",
        "Dense(1,\n      name='a',\n      dtype=\"float32\")",
    ),
    "one argument on its line": (
        "Dense(\n    1\n)",
        'Dense(\n    1,\n    dtype="float32"\n)',
    ),
}


@pytest.mark.parametrize("shape", HEADS)
def test_the_dtype_is_laid_out_as_the_other_arguments_are(edit, shape):
    head, expected = HEADS[shape]
    text = (
        'import keras\nfrom keras.layers import *\nfrom keras.layers import {}\n"{}"\n'
    )
    kind = head.partition("(")[0]
    source = text.format(kind, "") + f"m = keras.Sequential()\nm.add({head})\nm.fit()\n"

    edited = edit(source.encode()).decode()

    assert f"m.add({expected})\n" in edited


UNCERTAIN = {
    "a part of another model": "base = S([L.Dense(1)])\nm = S([base])\nm.fit()",
    "a name that is bound twice": "m = S([L.Dense(1)])\nm = wrap(m)\nm.fit()",
    "a dtype that is there": "m = S([L.Dense(1, dtype='float16')])\nm.fit()",
    "arguments that are not seen": "m = S([L.Dense(1, **more)])\nm.fit()",
    "a layer of the user's": "m = S([L.Dense(1), Mine(1)])\nm.fit()",
    "a wrapper around another layer": "m = S([L.TimeDistributed(L.Dense(1))])\nm.fit()",
    "layers that are not written out": "m = S([L.Dense(1), *more])\nm.fit()",
    "an add in a loop": "m = S([L.Dense(1)])\nfor n in r:\n  m.add(L.ReLU())\nm.fit()",
    "a layer that is taken away": "m = S([L.Dense(1), L.Dense(2)])\nm.pop()\nm.fit()",
    "outputs bound in a branch": "if a:\n  o = L.Dense(1)(i)\nm = M(i, o)\nm.fit()",
    "a layer that has a name": "d = L.Dense(1)\no = d(i)\nm = M(i, o)\nm.fit()",
    "a model never trained here": "e = S([L.Dense(1)])\nf = S([L.Dense(2)])",
    "a function with two ways out": (
        "def f():\n  if a:\n    return b\n  return S([L.Dense(1)])\nm = f()\nm.fit()"
    ),
    "an attribute": "class T:\n  def b(self):\n    self.m = S([L.Dense(1)])\nt.m.fit()",
    "one of two models with a class": (
        "class B(keras.Model):\n  def b(self):\n    return S([L.Dense(1)])"
    ),
}


@pytest.mark.parametrize("shape", UNCERTAIN)
def test_no_dtype_is_added_where_the_output_is_not_certain(edit, shape):
    imports = (
        "import keras\nfrom keras import layers as L\n"
        "from keras import Sequential as S, Model as M\n"
    )
    edited = edit((imports + UNCERTAIN[shape] + "\n").encode())

    assert b'dtype="float32"' not in edited
    assert b"dtype='float32'" not in edited


def test_the_layer_that_feeds_a_last_layer_without_weights_is_float32_too(edit):
    edited = edit(
        b"import keras\nL = keras.layers\ni = keras.Input((2,))\nx = L.Dense(8)(i)\n"
        b"x = L.Dense(2)(x)\nx = L.Activation('softmax')(x)\n"
        b"m = keras.Model(inputs=i, outputs=x)\nm.compile()\n"
    )

    assert b"L.Dense(8)(i)" in edited
    assert b"L.Dense(2, dtype='float32')(x)" in edited
    assert b"L.Activation('softmax', dtype='float32')(x)" in edited


def test_float32_as_a_policy_leaves_the_layers_alone(edit):
    source = b"import keras\nm = keras.Sequential([keras.layers.Dense(1)])\nm.fit()\n"

    assert b"dtype" not in edit(source, "float32")
