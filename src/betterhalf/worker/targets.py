"""The process that audits a saved file, or what a factory returns: no script runs.

    python -m betterhalf.worker.targets

What to load stands in the instructions, as for a script.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from betterhalf.records.instructions import AuditRequest
from betterhalf.worker.auditing import Auditor


def main() -> None:
    """Loads the model and audits it; does not return where that works."""
    auditor = Auditor.current
    if auditor is None:
        raise SystemExit("expected to be started by betterhalf check")
    keras: Any = importlib.import_module("keras")
    if auditor.request.kind == "file":
        auditor.end_with_model(keras.saving.load_model(auditor.request.source))
    else:
        auditor.end_with_model(*_make(keras, auditor.request))


def _make(keras: Any, request: AuditRequest) -> tuple[Any, Any]:
    """Returns the model of a factory, and a batch if it returns one beside it."""
    factory: Any = _import(request)
    for part in request.name.split("."):
        factory = getattr(factory, part)
    made = factory if isinstance(factory, keras.Model) else factory()
    model, batch = made if isinstance(made, tuple) else (made, None)
    if not isinstance(model, keras.Model):
        raise TypeError(
            f"expected {request.target} to return a Keras model, or a model and a "
            f"batch. Received: {type(model).__name__}"
        )
    return model, batch


def _import(request: AuditRequest) -> ModuleType:
    if not request.source.endswith(".py"):
        return importlib.import_module(request.source)
    path = Path(request.source)
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"expected a Python file. Received: {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main()
