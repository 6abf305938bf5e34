from __future__ import annotations

import shlex
from types import SimpleNamespace

from betterhalf.records.plan import Limits
from betterhalf.reporting.command import spell_command


def test_defaults_do_not_show(make: SimpleNamespace) -> None:
    plan = make.plan(quick=False, limits=Limits())
    assert spell_command(plan) == (
        "betterhalf compare --arms mixed_bfloat16,mixed_float16 --backend tensorflow "
        "train.py"
    )


def test_every_option_that_was_chosen_shows(make: SimpleNamespace) -> None:
    plan = make.plan(
        quick=False,
        keep_seeds=True,
        epochs=2,
        steps=30,
        metric="val_accuracy",
        mode="max",
        budget_seconds=1800.0,
        trial_timeout_seconds=1e6,
        limits=Limits(looks=(5, 8), margin=0.005, min_speedup=1.2),
    )
    words = shlex.split(spell_command(plan))
    assert words[6:] == shlex.split(
        "--keep-seeds --runs 5 --max-runs 8 --epochs 2 --steps 30 "
        "--budget 1800s --trial-timeout 1000000s --metric val_accuracy --mode max "
        "--margin 0.005 --min-speedup 1.2 train.py"
    )


def test_a_name_that_a_shell_would_split_is_quoted(make: SimpleNamespace) -> None:
    plan = make.plan(script="my train.py; rm -r x")
    assert shlex.split(spell_command(plan))[-1] == "my train.py; rm -r x"


def test_a_module_is_named_as_python_names_it(make: SimpleNamespace) -> None:
    plan = make.plan(script="pack.train", module=True)
    assert spell_command(plan).endswith(" -m pack.train")


def test_a_single_look_shows_as_one(make: SimpleNamespace) -> None:
    plan = make.plan(quick=False, limits=Limits(looks=(3,)))
    assert "--max-runs 3 " in spell_command(plan)
    assert "--max-runs" not in spell_command(make.plan(quick=True))
