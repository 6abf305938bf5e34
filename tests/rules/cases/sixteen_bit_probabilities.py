from betterhalf.auditing.sources import CallSite, CodeView
from betterhalf.auditing.view import LayerView, ModelView, OutputView


def ends_in(activation, dtype, **facts):
    return ModelView(
        outputs=(OutputView(name="0", activation=activation, dtype=dtype),), **facts
    )


def calls(target):
    site = CallSite(file="model.py", function="Net.call", target=target)
    return (LayerView(from_keras=False, code=CodeView(file="model.py", calls=(site,))),)


FOUND = {
    "softmax": ends_in("softmax", "float16"),
    "sigmoid": ends_in("sigmoid", "bfloat16"),
    "in the model's own code": ends_in(
        "", "float16", layers=calls("keras.ops.softmax")
    ),
}
SILENT = {
    "softmax in float32": ends_in("softmax", "float32"),
    "logits": ends_in("linear", "float16"),
    "tanh": ends_in("tanh", "bfloat16"),
    "own code without a softmax": ends_in(
        "", "float16", layers=calls("keras.ops.relu")
    ),
}
