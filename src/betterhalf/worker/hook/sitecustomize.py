"""Python imports this first in every process of a trial, and it steps aside at once.

The folder of this file stands at the head of `PYTHONPATH`, so the hook is in the
script's own process and in every Python that it starts. It takes itself off `sys.path`,
lets a `sitecustomize` that was there before have its turn, and starts the watcher.
"""

import importlib.machinery
import importlib.util
import sys
from pathlib import Path


_HERE = str(Path(__file__).parent)
sys.path[:] = [entry for entry in sys.path if entry != _HERE]


def _run_the_users_own() -> None:
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


_run_the_users_own()
try:
    from betterhalf.worker.start import start
except ImportError:
    pass  # a Python of the script's that has no betterhalf: nothing to watch in it
else:
    start()
