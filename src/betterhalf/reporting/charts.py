"""The charts of the report: one for each question that a reader asks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

import altair as alt

from betterhalf.reporting.drawing import (
    Palette,
    Picture,
    draw_lines,
    draw_spans,
    give_data,
    make_axis,
    take_picture,
)
from betterhalf.reporting.figures import seconds_unit, size_unit
from betterhalf.reporting.samples import (
    Row,
    Rows,
    list_epochs,
    list_peaks,
    list_series,
    list_speeds,
    list_windows,
    name_series,
)
from betterhalf.reporting.words import one_line


if TYPE_CHECKING:
    from collections.abc import Sequence

    from betterhalf.records.plan import Plan
    from betterhalf.records.result import Estimate, Result
    from betterhalf.records.trial import Trial


_MEMORY_SERIES = re.compile(r"gpu\d+_memory_used_bytes")
_OWN_MEMORY = "process_rss_bytes"


def draw_charts(
    plan: Plan, trials: Sequence[Trial], result: Result
) -> tuple[Picture, ...]:
    """Returns the charts that the records have samples for.

    Args:
        plan: gives the arms their order and colours.
        trials: sorted.
        result: gives the intervals.
    """
    palette = Palette(tuple(one_line(arm.name) for arm in plan.arms))
    drawn = [
        _draw_speeds(palette, trials, result),
        _draw_windows(palette, list_windows(trials)),
        _draw_epochs(palette, list_epochs(trials)),
        _draw_peaks(palette, list_peaks(trials)),
        _draw_memory(palette, trials),
        _draw_machine(palette, trials),
    ]
    return tuple(picture for picture in drawn if picture is not None)


def _draw_speeds(
    palette: Palette, trials: Sequence[Trial], result: Result
) -> Picture | None:
    basis = _find_basis(result)
    rows = list_speeds(trials, basis)
    if not rows:
        return None
    scale, unit = seconds_unit(min(row["seconds"] for row in rows))
    estimates: list[tuple[str, Estimate | None]] = [
        (arm.arm, arm.epoch_seconds if basis == "epoch" else arm.step_seconds)
        for arm in result.arms
    ]
    spans = [
        {"arm": name, "low": one.low / scale, "high": one.high / scale}
        for name, one in estimates
        if one is not None and one.low > 0 and one.high < float("inf")
    ]
    values = [{**row, "value": row["seconds"] / scale} for row in rows]
    axis = make_axis([row["value"] for row in values], f"{unit} per {basis}")
    chart = draw_spans(palette, axis, unit, values, spans)
    return take_picture(
        "speed",
        "How fast was every trial?",
        f"One point a trial: mean time per {basis} of its steady part, shorter is "
        "better. The bar is the interval over trials.",
        chart,
    )


def _find_basis(result: Result) -> Literal["epoch", "step"]:
    """Returns what the speed-ups were taken from; steps where there is none."""
    for arm in result.arms:
        if arm.speedup is not None:
            return arm.speedup.basis
    return "step"


def _draw_windows(palette: Palette, windows: Rows) -> Picture | None:
    if not windows.rows:
        return None
    scale, unit = seconds_unit(min(row["seconds"] for row in windows.rows))
    values = [{**row, "value": row["seconds"] / scale} for row in windows.rows]
    axis = make_axis(
        [row["value"] for row in values], f"{unit} per step", vertical=True
    )
    lines = draw_lines(palette, values, alt.X("step:Q", title="training step"), axis)
    unsteady = (
        alt.Chart(give_data([row for row in values if not row["steady"]]))
        .mark_point(filled=False, size=30)
        .encode(x="step:Q", y=axis, color=palette.colour)
    )
    return take_picture(
        "steps",
        "Did the speed hold?",
        "One line a trial, one sample a stretch between two synchronisations; a ring "
        f"is one that compilation or the first step disturbed.{_thinned(windows)}",
        lines + unsteady,
    )


def _draw_epochs(palette: Palette, epochs: Rows) -> Picture | None:
    if not any(row["epoch"] > 1 for row in epochs.rows):
        return None
    scale, unit = seconds_unit(min(row["seconds"] for row in epochs.rows))
    values = [{**row, "value": row["seconds"] / scale} for row in epochs.rows]
    axis = make_axis(
        [row["value"] for row in values], f"{unit} per epoch", vertical=True
    )
    place = alt.X("epoch:Q", title="epoch", axis=alt.Axis(tickMinStep=1, format="d"))
    return take_picture(
        "epochs",
        "How long was every epoch?",
        "One line a trial; validation and callbacks are part of an epoch."
        f"{_thinned(epochs)}",
        draw_lines(palette, values, place, axis),
    )


def _draw_peaks(palette: Palette, rows: Sequence[Row]) -> Picture | None:
    if not rows:
        return None
    scale, unit = size_unit(max(row["bytes"] for row in rows))
    values = [{**row, "value": row["bytes"] / scale} for row in rows]
    axis = make_axis([row["value"] for row in values], unit)
    device = any(row["kind"] == "device" for row in rows)
    whose = "of the device" if device else "resident in the process on a CPU"
    return take_picture(
        "memory",
        "How much memory did it hold?",
        f"One point a trial: the peak during its training, {whose}.",
        draw_spans(palette, axis, unit, values, []),
    )


def _draw_memory(palette: Palette, trials: Sequence[Trial]) -> Picture | None:
    names = [name for name in name_series(trials) if _MEMORY_SERIES.fullmatch(name)]
    if not names and _OWN_MEMORY in name_series(trials):
        names = [_OWN_MEMORY]
    readings = list_series(trials, names)
    if not readings.rows:
        return None
    scale, unit = size_unit(max(row["value"] for row in readings.rows))
    values = [{**row, "value": row["value"] / scale} for row in readings.rows]
    axis = alt.Y("value:Q", title=unit)
    time = alt.X("at:Q", title="s since the trial began")
    return take_picture(
        "memory-over-time",
        "How did memory go?",
        f"One line a trial: {', '.join(names)}.{_thinned(readings)}",
        draw_lines(palette, values, time, axis),
    )


def _draw_machine(palette: Palette, trials: Sequence[Trial]) -> Picture | None:
    names = [name for name in name_series(trials) if not name.endswith("_bytes")]
    readings = list_series(trials, names)
    if not readings.rows:
        return None
    panels = [
        draw_lines(
            palette,
            [row for row in readings.rows if row["series"] == name],
            alt.X("at:Q", title="s since the trial began"),
            alt.Y("value:Q", title=None),
            zoom=f"zoom_{place}",
        ).properties(title=name, height=110)
        for place, name in enumerate(names)
        if any(row["series"] == name for row in readings.rows)
    ]
    return take_picture(
        "machine",
        "What did the machine do beside it?",
        f"One line a trial.{_thinned(readings)}",
        alt.vconcat(*panels),
        aside=True,
    )


def _thinned(rows: Rows) -> str:
    if not rows.thinned:
        return ""
    return (
        f" Thinned: {len(rows.rows):,} of {rows.recorded:,} samples are shown; "
        "all of them are in the run store."
    )
