from betterhalf.auditing.view import ModelView, OutputView


def ends_in(activation, dtype):
    return ModelView(outputs=(OutputView(activation=activation, dtype=dtype),))


FOUND = {
    "logits": ends_in("linear", "float16"),
    "not known": ends_in("", "bfloat16"),
}
SILENT = {
    "float32": ends_in("linear", "float32"),
    "softmax, which another rule finds": ends_in("softmax", "float16"),
    "sigmoid, likewise": ends_in("sigmoid", "bfloat16"),
}
