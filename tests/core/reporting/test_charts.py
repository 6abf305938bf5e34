from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from betterhalf.reporting.charts import draw_charts
from betterhalf.reporting.drawing import (
    COLOURS,
    Picture,
    rename_views,
    renumber_ids,
)
from betterhalf.reporting.samples import CHART_SAMPLES


if TYPE_CHECKING:
    from types import SimpleNamespace


@pytest.fixture(scope="module")
def pictures(make: SimpleNamespace) -> dict[str, Picture]:
    drawn = draw_charts(make.plan(), make.trials(), make.result())
    return {picture.name: picture for picture in drawn}


def list_rows(part: Any) -> list[dict[str, Any]]:
    if isinstance(part, Picture):
        return list_rows(json.loads(part.specification))
    if isinstance(part, list):
        return [row for inner in part for row in list_rows(inner)]
    if not isinstance(part, dict):
        return []
    own = part.get("values", [])
    return own + [row for inner in part.values() for row in list_rows(inner)]


def test_there_is_a_chart_for_every_question(pictures: dict[str, Picture]) -> None:
    assert list(pictures) == [
        "speed",
        "steps",
        "epochs",
        "memory",
        "memory-over-time",
        "machine",
    ]


def test_records_without_samples_give_no_chart(make: SimpleNamespace) -> None:
    failed = [make.failed_trial("float32", 1, "no")]
    assert draw_charts(make.plan(), failed, make.result()) == ()
    assert draw_charts(make.plan(), [], make.result()) == ()


def test_every_trial_is_a_point_of_the_first_chart(
    pictures: dict[str, Picture],
) -> None:
    points = [row for row in list_rows(pictures["speed"]) if "trial" in row]
    assert len(points) == 9


def test_an_arm_has_the_same_colour_in_every_chart(
    pictures: dict[str, Picture], make: SimpleNamespace
) -> None:
    colours = json.dumps({"domain": make.arms, "range": COLOURS[:3]})
    for picture in pictures.values():
        found = re.findall(r'"domain": .*?"range": .*?\]', picture.specification)
        assert {f"{{{one}}}" for one in found} == {colours}


def test_figures_far_apart_share_a_logarithmic_axis(make: SimpleNamespace) -> None:
    near = ("float32", "mixed_bfloat16")
    linear, *_ = draw_charts(make.plan(near), make.trials(near), make.result(near))
    apart, *_ = draw_charts(make.plan(), make.trials(), make.result())
    assert '"type": "log"' not in linear.specification
    assert '"type": "log"' in apart.specification


def test_the_ids_of_all_pictures_differ(pictures: dict[str, Picture]) -> None:
    svgs = [picture.svg for picture in pictures.values()]
    ids = [one for svg in svgs for one in re.findall('id="(.*?)"', svg)]
    assert len(ids) == len(set(ids))
    used = {one for svg in svgs for one in re.findall(r"url\(#(.*?)\)", svg)}
    assert used <= set(ids)


def test_ids_are_renumbered_with_what_points_at_them() -> None:
    svg = '<a id="clip7"/><a id="clip71"/><b clip="url(#clip7)"/><c href="#clip71"/>'
    assert renumber_ids(svg, "x") == (
        '<a id="x-0"/><a id="x-1"/><b clip="url(#x-0)"/><c href="#x-1"/>'
    )


def test_views_are_renamed_wherever_they_are_named() -> None:
    chart = {
        "layer": [{"name": "view_9"}, {"name": "mine"}],
        "params": [{"name": "zoom", "views": ["view_9"]}, {"name": "other"}],
    }
    rename_views(chart)
    assert chart["layer"] == [{"name": "view_0"}, {"name": "mine"}]
    assert chart["params"] == [{"name": "zoom", "views": ["view_0"]}, {"name": "other"}]


def test_a_long_training_is_thinned_and_the_caption_says_so(
    make: SimpleNamespace,
) -> None:
    trials = [make.trial("float32", 1, windows=5000)]
    drawn = draw_charts(make.plan(), trials, make.result())
    steps = next(picture for picture in drawn if picture.name == "steps")
    assert "Thinned: 2,000 of 10,000 samples are shown" in steps.reading
    assert len(list_rows(steps)) <= 2 * CHART_SAMPLES


def test_another_process_draws_the_same_bytes(pictures: dict[str, Picture]) -> None:
    program = """
import conftest as made
from betterhalf.reporting.charts import draw_charts
draw_charts(made.make_plan(), made.make_trials(), made.make_result())
drawn = draw_charts(made.make_plan(), made.make_trials(), made.make_result())
print("".join(one.specification + one.svg for one in drawn), end="")
"""
    written = subprocess.run(
        [sys.executable, "-c", program],
        env={
            "PYTHONPATH": ":".join([str(Path(__file__).parent), *sys.path]),
            "PYTHONHASHSEED": "7",
            "PYTHONUTF8": "1",
        },
        capture_output=True,
        check=True,
    ).stdout.decode()
    here = "".join(one.specification + one.svg for one in pictures.values())
    assert written == here


def test_a_short_and_a_full_trial_of_one_number_are_lines_of_their_own(
    make: SimpleNamespace,
) -> None:
    short = make.trial("float32", 1)
    trials = [
        msgspec.structs.replace(short, stage=1),
        msgspec.structs.replace(short, stage=2),
    ]
    drawn = draw_charts(make.plan(), trials, make.result())
    steps = next(picture for picture in drawn if picture.name == "steps")
    assert {row["trial"] for row in list_rows(steps) if "trial" in row} == {
        "1",
        "full 1",
    }
