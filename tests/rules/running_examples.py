"""Runs a program up to its first training step, in this process, and audits it."""

import dataclasses
import linecache
import sys
from types import ModuleType

import keras

import betterhalf
from betterhalf.auditing.from_keras.watching import ScriptWatcher
from betterhalf.auditing.running import run_rules
from betterhalf.keras_seams import install
from betterhalf.records.environment import Device


GOOD_AT_BOTH = Device(kind="gpu", name="NVIDIA H200", compute_capability="9.0")
"""A device that no rule finds fault with: what this machine is, is not the question."""


class _Reached(BaseException):
    def __init__(self, view):
        self.view = view


def view_of(program, path, policy=None, devices=(GOOD_AT_BOTH,)):
    """Returns the view of the model of a program, as `betterhalf check` would see it.

    A program that does not train says with a variable `model`, and perhaps `batch`,
    what is to be audited.

    Args:
        program: source of the program.
        path: where it is written, so that its source can be read.
        policy: kept in force, as by `--policy`.
        devices: to say that the program runs on.
    """
    path.write_text(program)
    linecache.checkcache(str(path))
    _begin_anew()

    def reached(view):
        raise _Reached(view)

    module = ModuleType("program")
    module.__file__ = str(path)
    sys.modules["program"] = module
    watcher = ScriptWatcher(keras, str(path), reached, policy)
    installation = install(keras, [watcher], aside=True)
    try:
        exec(compile(program, str(path), "exec"), vars(module))
        model = vars(module).get("model")
        view = watcher.read(model, vars(module).get("batch"))
    except _Reached as end:
        view = end.view
    finally:
        betterhalf.disable()
        installation.remove()
        del sys.modules["program"]
        _begin_anew()
    environment = dataclasses.replace(view.environment, devices=devices)
    return dataclasses.replace(view, environment=environment)


def findings_of(program, path, policy=None):
    """Returns what all rules find in a program."""
    return run_rules(view_of(program, path, policy)).findings


def _begin_anew():
    keras.utils.clear_session()
    keras.config.set_floatx("float32")
    keras.config.set_epsilon(1e-7)
    keras.config.set_dtype_policy("float32")
