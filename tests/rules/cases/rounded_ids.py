from betterhalf.auditing.view import LayerView, ModelView, TensorView


def looked_up(dtype, size, class_name="Embedding"):
    layer = LayerView(
        class_name=class_name,
        config={"input_dim": size},
        inputs=(TensorView(dtype=dtype),),
    )
    return ModelView(layers=(LayerView(), layer), observed=True)


FOUND = {
    "float16": looked_up("float16", 5000),
    "bfloat16": looked_up("bfloat16", 300),
    "a small table, a note": looked_up("float16", 100),
}
SILENT = {
    "integers": looked_up("int32", 5000),
    "float32": looked_up("float32", 5000),
    "narrow integers": looked_up("uint16", 5000),
    "another layer": looked_up("float16", 5000, "Dense"),
}
SEVERITIES = {"float16": "error", "bfloat16": "error", "a small table, a note": "note"}
