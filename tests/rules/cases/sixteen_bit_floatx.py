from betterhalf.auditing.view import EnvironmentView, ModelView


def under(floatx):
    return ModelView(environment=EnvironmentView(floatx=floatx))


FOUND = {"float16": under("float16"), "bfloat16": under("bfloat16")}
SILENT = {
    "float32": under("float32"),
    "float64": under("float64"),
    "a mixed policy": ModelView(
        environment=EnvironmentView(global_policy="mixed_float16")
    ),
}
