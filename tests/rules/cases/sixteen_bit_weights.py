from betterhalf.auditing.view import CompileView, LayerView, ModelView, WeightView


def layer(policy, dtype, **facts):
    return LayerView(policy=policy, weights=(WeightView(dtype=dtype, **facts),))


FOUND = {
    "pure bfloat16": ModelView(
        layers=(layer("bfloat16", "bfloat16"),), compiled=CompileView()
    ),
    "pure float16 without compile": ModelView(layers=(layer("float16", "float16"),)),
}
SILENT = {
    "mixed": ModelView(layers=(layer("mixed_bfloat16", "float32"),)),
    "float32": ModelView(layers=(layer("float32", "float32"),)),
    "a table that is never trained": ModelView(
        layers=(layer("mixed_float16", "float16", trainable=False),)
    ),
}
