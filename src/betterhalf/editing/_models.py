"""The models that a script builds and then trains."""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from betterhalf.editing._names import Names, Scope


_SEQUENTIAL = ("keras.Sequential", "keras.models.Sequential")
_FUNCTIONAL = ("keras.Model", "keras.models.Model")
_BASES = (*_SEQUENTIAL, *_FUNCTIONAL, "keras.Layer", "keras.layers.Layer")
_TRAINING = ("compile", "fit", "train_on_batch")
# Models come from elsewhere in a script that uses these.
_ELSEWHERE = (
    "keras.applications",
    "keras.saving",
    "keras.models.load_model",
    "keras.models.clone_model",
    "keras.models.model_from_json",
)


class BuiltModel(NamedTuple):
    """One call of `Sequential` or `Model`.

    Attributes:
        call: the call.
        is_sequential: it is a `Sequential`.
        name: what it is assigned to; absent if a function returns it at once.
        scope: where the name is bound.
    """

    call: cst.Call
    is_sequential: bool
    name: str | None
    scope: Scope


def find_trained_models(names: Names) -> list[BuiltModel]:
    """Returns the models that surely are trained, and not parts of others alone."""
    calls = [
        node
        for node in names.nodes
        if isinstance(node, cst.Call)
        and names.in_keras(node.func) in (*_SEQUENTIAL, *_FUNCTIONAL)
    ]
    trained = _trained_names(names)
    alone = len(calls) == 1 and not trained and not _has_others(names)
    held = [model for call in calls if (model := _hold(names, call)) is not None]
    return [model for model in held if alone or _is_trained(names, model, trained)]


def _hold(names: Names, call: cst.Call) -> BuiltModel | None:
    """Returns a model with its name, if it has one and only one."""
    parent = names.parents[call]
    scope = names.scope_of(call)
    is_sequential = names.in_keras(call.func) in _SEQUENTIAL
    if isinstance(parent, cst.Return):
        return BuiltModel(call, is_sequential, None, scope)
    if not isinstance(parent, cst.Assign) or parent.value is not call:
        return None
    target = parent.targets[0].target
    if len(parent.targets) != 1 or not isinstance(target, cst.Name):
        return None
    if isinstance(scope, cst.ClassDef) or len(names.bindings(scope, target.value)) != 1:
        return None
    return BuiltModel(call, is_sequential, target.value, scope)


def _trained_names(names: Names) -> set[tuple[Scope, str]]:
    """Returns the names on which a method of training is called, with their scopes."""
    return {
        (names.holder_of(node.func.value), node.func.value.value)
        for node in names.nodes
        if isinstance(node, cst.Call)
        and isinstance(node.func, cst.Attribute)
        and node.func.attr.value in _TRAINING
        and isinstance(node.func.value, cst.Name)
    }


def _is_trained(
    names: Names, model: BuiltModel, trained: set[tuple[Scope, str]]
) -> bool:
    if model.name is not None and (model.scope, model.name) in trained:
        return True
    function = _returning_function(names, model)
    return function is not None and any(
        _trains_result(names, node, trained)
        for node in names.nodes
        if isinstance(node, cst.Call)
        and isinstance(node.func, cst.Name)
        and node.func.value == function.name.value
    )


def _returning_function(names: Names, model: BuiltModel) -> cst.FunctionDef | None:
    """Returns the function of the module that returns this model and nothing else."""
    function = model.scope
    if not isinstance(function, cst.FunctionDef):
        return None
    if not isinstance(names.scope_of(function), cst.Module):
        return None
    if len(names.bound[function.name.value]) != 1:
        return None
    returned = [
        node.value
        for node in names.nodes
        if isinstance(node, cst.Return) and names.scope_of(node) is function
    ]
    if len(returned) != 1:
        return None
    value = returned[0]
    is_model = value is model.call or (
        isinstance(value, cst.Name) and value.value == model.name
    )
    return function if is_model else None


def _trains_result(
    names: Names, call: cst.Call, trained: set[tuple[Scope, str]]
) -> bool:
    """Tells whether what a call returns gets a name that is trained."""
    parent = names.parents[call]
    if not isinstance(parent, cst.Assign) or len(parent.targets) != 1:
        return False
    target, scope = parent.targets[0].target, names.scope_of(call)
    return (
        isinstance(target, cst.Name)
        and (scope, target.value) in trained
        and len(names.bindings(scope, target.value)) == 1
    )


def _has_others(names: Names) -> bool:
    """Tells whether the script may have models that it does not build with a call."""
    for node in names.nodes:
        if isinstance(node, cst.ClassDef) and any(
            names.in_keras(base.value) in _BASES for base in node.bases
        ):
            return True
        if isinstance(node, cst.Name | cst.Attribute) and (
            names.in_keras(node) or ""
        ).startswith(_ELSEWHERE):
            return True
    return False
