"""The report as one HTML file that needs no network and shows all without scripts.

Style, charts, the library that draws them and the records themselves are inside. The
page forbids the browser to fetch anything (a content security policy); Vega compiles
its expressions, hence `unsafe-eval`. All text is escaped by the template engine, and
JSON by `_as_data`, so nothing that a script named can become markup.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import jinja2
import msgspec
import vl_convert
from markupsafe import Markup

from betterhalf import __version__
from betterhalf.records.codec import encode_line
from betterhalf.reporting.account import (
    Account,
    ArmAccount,
    give_account,
    sort_trials,
    tabulate,
)
from betterhalf.reporting.charts import draw_charts
from betterhalf.reporting.drawing import COLOURS
from betterhalf.reporting.samples import share_out, thin
from betterhalf.reporting.words import classify_diff, one_line, printable


if TYPE_CHECKING:
    from collections.abc import Sequence

    from betterhalf.records.plan import Plan
    from betterhalf.records.result import Result
    from betterhalf.records.trial import Trial


RECORD_SAMPLES = 10_000
"""Samples of the clock that the page's copy of the records keeps; with as many readings
of the machine they take about one megabyte, as much as the library of the charts."""

_END_TAG = re.compile("</script", re.IGNORECASE)
_ASSETS = files("betterhalf.reporting") / "assets"


def as_page(plan: Plan, trials: Sequence[Trial], result: Result) -> str:
    """Returns the report as HTML; the same records give the same bytes.

    Args:
        plan: of the experiment.
        trials: those that have ended, in any order.
        result: what was judged of them.
    """
    ordered = sort_trials(plan, trials)
    account = give_account(plan, ordered, result)
    charts = draw_charts(plan, ordered, result)
    copied = [_thin_trial(trial, len(ordered)) for trial in ordered]
    heads, rows = _rows(account, result, ordered)
    return _template().render(
        version=__version__,
        account=account,
        heads=heads,
        rows=rows,
        diff=classify_diff(account.diff or ""),
        charts=[
            {
                "name": chart.name,
                "question": chart.question,
                "reading": chart.reading,
                "aside": chart.aside,
                # both were made by the chart library, which escapes names in them
                "svg": _trust(chart.svg),
                "data": _as_data(chart.specification),
            }
            for chart in charts
        ],
        data_note=_data_note(copied != ordered),
        records=_as_data(_bundle_records(plan, copied, result)),
        style=_asset("page.css"),
        program=_asset("page.js"),
        bundle=_chart_library() if charts else "",
    )


@dataclass(frozen=True, slots=True)
class _Row:
    """One arm of the page: its colour in the charts, its cells and its tracebacks."""

    arm: ArmAccount
    colour: str
    cells: list[str]
    traces: list[tuple[str, str]]


def _rows(
    account: Account, result: Result, trials: Sequence[Trial]
) -> tuple[list[str], list[_Row]]:
    heads, cells = tabulate(account.arms)
    rows = [
        _Row(
            arm=arm,
            colour=COLOURS[place % len(COLOURS)],
            cells=cells[place],
            traces=_traces(result.arms[place].arm, trials),
        )
        for place, arm in enumerate(account.arms)
    ]
    return heads, rows


def _traces(arm: str, trials: Sequence[Trial]) -> list[tuple[str, str]]:
    """Returns a title and the last words of each trial of `arm` that did not finish."""
    traces = []
    for trial in trials:
        if trial.arm != arm or trial.outcome == "finished":
            continue
        told = trial.failure.traceback if trial.failure else None
        text = printable(told or trial.log_tail).strip()
        if text:
            what = "traceback" if told else "end of the log"
            traces.append((one_line(f"trial {trial.number}: {what}"), text))
    return traces


def _data_note(thinned: bool) -> str:
    if not thinned:
        return "The records are in this page as JSON, whole, under the id `records`."
    return (
        "The records are in this page as JSON under the id `records`, their samples "
        f"thinned to about {RECORD_SAMPLES:,}; all of them are in the run store."
    )


def _thin_trial(trial: Trial, trials: int) -> Trial:
    limit = share_out(RECORD_SAMPLES, trials)
    trainings = tuple(
        msgspec.structs.replace(
            training,
            windows=thin(training.windows, limit),
            epochs=thin(training.epochs, limit),
        )
        for training in trial.trainings
    )
    timeline = trial.timeline
    if timeline is not None:
        each = share_out(limit, len(timeline.series))
        timeline = msgspec.structs.replace(
            timeline,
            seconds=thin(timeline.seconds, each),
            series=tuple(
                msgspec.structs.replace(series, values=thin(series.values, each))
                for series in timeline.series
            ),
            thinned=timeline.thinned or len(timeline.seconds) > each,
        )
    return msgspec.structs.replace(trial, trainings=trainings, timeline=timeline)


def _bundle_records(plan: Plan, trials: Sequence[Trial], result: Result) -> str:
    records = {
        "kind": "report",
        "written_by": f"betterhalf {__version__}",
        "data": {"plan": plan, "trials": list(trials), "result": result},
    }
    return encode_line(records).decode().strip()


def _as_data(text: str) -> Markup:
    """Returns JSON that no string inside can end; `<` occurs in strings alone."""
    return _trust(text.replace("<", "\\u003c"))


def _asset(name: str) -> Markup:
    return _trust((_ASSETS / name).read_text(encoding="utf-8"))


@cache
def _chart_library() -> Markup:
    library = vl_convert.javascript_bundle()  # pyright: ignore[reportCallIssue]
    return _trust(_END_TAG.sub(r"<\\/script", library))


def _trust(text: str) -> Markup:
    """Marks what this package or the chart library wrote as markup."""
    return Markup(text)  # noqa: S704 # no caller passes what a user wrote


def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.from_string(_asset("page.html.jinja"))
