"""How a chart of the report is drawn, whatever it is about.

Each is an Altair chart twice over: a Vega-Lite specification that the page's own copy
of Vega draws, and a picture as SVG for where no script runs. What libraries number per
process (views, clip paths) is numbered anew, so that the same records give the same
bytes; ids carry the name of their chart, because all pictures share one page.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import altair as alt
import vl_convert

from betterhalf.reporting.words import one_line


if TYPE_CHECKING:
    from collections.abc import Sequence

    from betterhalf.reporting.samples import Row


WIDTH = 640
"""Pixels; the page scales a chart down where there is less room."""

SPREAD_TO_LOG = 8.0
"""Largest ratio of two figures that share a linear axis; beyond it the small ones could
not be told apart, as where a CPU emulates float16."""

COLOURS = (
    "#6b7a8f",
    "#0a84c6",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#b58900",
    "#7f58d6",
    "#56b4e9",
)
"""One an arm, the reference's first; each can be seen on white and on black, and they
differ for colour-blind eyes (after Okabe and Ito 2008, darkened or greyed)."""


@dataclass(frozen=True, slots=True)
class Picture:
    """One chart of the page.

    Attributes:
        name: unique in the page, and its ids begin with it.
        question: what it answers, as a heading.
        reading: how to read it, in a line; says what was thinned.
        specification: Vega-Lite, as JSON.
        svg: the same as a picture.
        aside: true for what is folded away.
    """

    name: str
    question: str
    reading: str
    specification: str
    svg: str
    aside: bool = False


@dataclass(frozen=True, slots=True)
class Palette:
    """The arms of an experiment, in order, and what follows from it for a chart."""

    arms: tuple[str, ...]

    @property
    def colour(self) -> alt.Color:
        """The colour of an arm, the same in every chart."""
        colours = [COLOURS[place % len(COLOURS)] for place in range(len(self.arms))]
        scale = alt.Scale(domain=list(self.arms), range=colours)
        return alt.Color("arm:N", scale=scale, title=None)

    @property
    def place(self) -> alt.Y:
        """The line of an arm, references on top."""
        return alt.Y("arm:N", sort=list(self.arms), title=None)


def draw_spans(
    palette: Palette, axis: Any, unit: str, points: Sequence[Row], spans: Sequence[Row]
) -> Any:
    """Returns one line an arm, with a point a trial and a bar for its interval.

    Args:
        palette: the arms.
        axis: of the values, horizontal.
        unit: of the values.
        points: rows with `arm`, `trial` and `value`.
        spans: rows with `arm`, `low` and `high`; none where there are no intervals.
    """
    bars = (
        alt.Chart(give_data(spans))
        .mark_rule(strokeWidth=8, opacity=0.3, strokeCap="round")
        .encode(x=alt.X("low:Q"), x2="high:Q", y=palette.place, color=palette.colour)
    )
    marks = (
        alt.Chart(give_data(points))
        .mark_point(filled=True, size=55, opacity=0.85)
        .encode(
            x=axis,
            y=palette.place,
            color=palette.colour.legend(None),
            tooltip=["arm:N", "trial:N", alt.Tooltip("value:Q", title=unit)],
        )
    )
    layers = [bars, marks] if spans else [marks]
    height = 36 * max(len(palette.arms), 2)
    return alt.layer(*layers).properties(width=WIDTH, height=height)


def draw_lines(
    palette: Palette, rows: Sequence[Row], x: Any, y: Any, *, zoom: str = "zoom"
) -> Any:
    """Returns one line a trial; dragging pans it, the wheel with shift zooms.

    The wheel alone keeps scrolling the page.

    Args:
        palette: the arms.
        rows: with `arm`, `trial`, `series` where there are several, and what the axes
            are of.
        x: horizontal axis.
        y: vertical axis.
        zoom: name of the parameter, unique in a chart of several panels.
    """
    pan = alt.selection_interval(
        name=zoom, bind="scales", encodings=["x"], zoom="wheel![event.shiftKey]"
    )
    return (
        alt.Chart(give_data(rows))
        .mark_line(strokeWidth=1.3, opacity=0.8)
        .encode(
            x=x,
            y=y,
            color=palette.colour,
            detail=["trial:N", "series:N"],
            tooltip=["arm:N", "trial:N", _tip(x), _tip(y)],
        )
        .properties(width=WIDTH, height=220)
        .add_params(pan)
    )


def make_axis(values: Sequence[float], title: str, *, vertical: bool = False) -> Any:
    """Returns the axis of `value`, logarithmic where the values lie far apart."""
    wide = max(values) > SPREAD_TO_LOG * min(values)
    kind: dict[str, Any] = {"type": "log", "nice": False} if wide else {"zero": False}
    scale = alt.Scale(**kind, padding=12)
    build = alt.Y if vertical else alt.X
    return build("value:Q", title=title, scale=scale, axis=alt.Axis(tickCount=5))


def _tip(channel: Any) -> alt.Tooltip:
    return alt.Tooltip(channel["shorthand"], title=channel["title"] or "")


def give_data(rows: Sequence[Row]) -> alt.Data:
    """Returns rows of data, the names in them printable."""
    clean = [{**row, "arm": one_line(row["arm"])} for row in rows]
    return alt.Data(values=[_rounded(row) for row in clean])


def _rounded(row: Row) -> Row:
    """Six digits are more than a pixel shows, and a third of the bytes."""
    return {
        key: float(f"{value:.6g}") if isinstance(value, float) else value
        for key, value in row.items()
    }


def take_picture(
    name: str, question: str, reading: str, chart: Any, *, aside: bool = False
) -> Picture:
    """Returns a chart in both of its forms.

    Args:
        name: unique in the page.
        question: its heading.
        reading: its caption.
        chart: of Altair.
        aside: whether it is folded away.
    """
    styled = (
        chart.configure(background="transparent", font="system-ui, sans-serif")
        .configure_view(stroke=None)
        .configure_axis(gridOpacity=0.4, labelLimit=240)
        .configure_legend(orient="top", labelLimit=240)
        .configure_title(anchor="start", fontWeight="normal", fontSize=12)
    )
    drawn = styled.to_dict()
    rename_views(drawn)
    specification = json.dumps(drawn, ensure_ascii=False, sort_keys=True)
    svg = vl_convert.vegalite_to_svg(specification)
    return Picture(
        name=name,
        question=question,
        reading=reading,
        specification=specification,
        svg=renumber_ids(svg, name),
        aside=aside,
    )


def rename_views(specification: dict[str, Any]) -> None:
    """Renames the views of a specification, in place, to what they are in its order.

    Altair names a view that a parameter acts on after a counter of the process.
    """
    parameters = specification.get("params", [])
    views = dict.fromkeys(
        view for parameter in parameters for view in parameter.get("views", ())
    )
    names = {old: f"view_{place}" for place, old in enumerate(views)}
    for parameter in parameters:
        if "views" in parameter:
            parameter["views"] = [names[view] for view in parameter["views"]]
    _rename(specification, names)


def _rename(part: dict[str, Any], names: dict[str, str]) -> None:
    if part.get("name") in names:
        part["name"] = names[part["name"]]
    for kind in ("layer", "vconcat"):
        for inner in part.get(kind, ()):
            _rename(inner, names)


def renumber_ids(svg: str, prefix: str) -> str:
    """Returns a picture whose ids are its own, wherever else it stands in a page."""
    ids = list(dict.fromkeys(re.findall(r'\bid="([^"]+)"', svg)))
    for place, old in enumerate(ids):
        new = f"{prefix}-{place}"
        svg = svg.replace(f'id="{old}"', f'id="{new}"')
        svg = re.sub(rf"#{re.escape(old)}(?=[\"')])", f"#{new}", svg)
    return svg
