from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import msgspec
import pytest

from betterhalf.records.result import Caveat
from betterhalf.reporting.page import as_page


if TYPE_CHECKING:
    from types import SimpleNamespace


HOSTILE = '</script><script>alert("1")</script>\'"><img src=http://e/x onerror=1>&lt;'
VOID = {"meta", "br", "img", "link", "input", "hr"}


class Reader(HTMLParser):
    """Reads a page as a browser would: its elements, and the text in each of them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self.open[-1] if self.open else "", data))

    def text(self, *tags: str) -> str:
        return "".join(text for tag, text in self.texts if not tags or tag in tags)

    def data(self, name: str) -> str:
        _, _, rest = self.page.partition(f'id="{name}">')
        return rest.partition("</script>")[0]

    def feed(self, data: str) -> None:
        self.page = data
        super().feed(data)


@pytest.fixture(scope="module")
def page(make: SimpleNamespace) -> Reader:
    return Reader(as_page(make.plan(), make.trials(), make.result()))


@pytest.fixture(scope="module")
def hostile(make: SimpleNamespace) -> Reader:
    """A page of records in which every text is an attack."""
    arm = make.arm_result(
        "mixed_bfloat16",
        arm=HOSTILE,
        sentence=HOSTILE,
        caveats=(Caveat(code=HOSTILE, text=HOSTILE, todo=HOSTILE),),
    )
    plan = make.plan((HOSTILE,), script=HOSTILE)
    trials = [
        make.trial(HOSTILE, 1),
        make.failed_trial(HOSTILE, 2, HOSTILE),
    ]
    result = make.result(script=HOSTILE, arms=(arm,), diff=HOSTILE)
    return Reader(as_page(plan, trials, result))


def test_every_element_is_closed(page: Reader) -> None:
    assert page.open == []


def test_the_verdict_comes_before_every_number(page: Reader) -> None:
    text = page.text("p", "td", "h2")
    assert text.index("SPEED ONLY.") < text.index("63.8 ms")
    heads = [text for tag, text in page.texts if tag == "h2"]
    assert heads[0] == "The deciding numbers"
    assert heads[-2:] == ["Environment", "How to reproduce"]


def list_references(page: Reader) -> list[str]:
    """Everything that a browser would fetch by itself."""
    names = ("src", "srcset", "data", "poster", "background", "action")
    found = [
        value
        for _, attributes in page.elements
        for name, value in attributes.items()
        if value and name in names
    ]
    found += [
        attributes["href"] or ""
        for tag, attributes in page.elements
        if tag in {"link", "base", "image", "use"} and "href" in attributes
    ]
    styles = page.text("style") + "".join(
        attributes.get("style") or "" for _, attributes in page.elements
    )
    return found + re.findall(r"url\(([^)]*)\)|@import", styles)


def test_the_page_fetches_nothing(page: Reader, hostile: Reader) -> None:
    assert list_references(page) == []
    assert list_references(hostile) == []


def test_the_browser_is_told_to_fetch_nothing(page: Reader) -> None:
    policies = [
        attributes["content"]
        for tag, attributes in page.elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert len(policies) == 1
    assert (policies[0] or "").startswith("default-src 'none';")
    assert "http" not in (policies[0] or "")


def test_names_that_look_like_markup_come_out_harmless(
    page: Reader, hostile: Reader
) -> None:
    assert "img" not in [tag for tag, _ in hostile.elements]
    assert hostile.open == []
    scripts = [one for tag, one in hostile.elements if tag == "script"]
    plain = [one for one in scripts if "type" not in one]
    assert len(plain) == len([1 for t, a in page.elements if t == "script" and not a])
    assert not any("onerror" in attributes for _, attributes in hostile.elements)
    shown = " ".join(HOSTILE.split())
    assert hostile.text("p").count(shown) >= 1
    assert hostile.text("code").count(shown) == 1
    assert hostile.text("pre", "span").count(HOSTILE) >= 2


def test_the_pictures_stand_without_scripts(page: Reader) -> None:
    figures = [one for tag, one in page.elements if tag == "figure"]
    pictures = [tag for tag, _ in page.elements if tag == "svg"]
    assert len(figures) == len(pictures) == 6
    for figure in figures:
        chart = json.loads(page.data(figure["data-chart"] or ""))
        assert chart["$schema"].endswith(".json")


def test_the_page_can_be_turned_back_into_records(
    page: Reader, make: SimpleNamespace
) -> None:
    data = json.loads(page.data("records"))["data"]
    result = make.result()
    assert msgspec.convert(data["result"], type(result)) == result
    trials = make.trials()
    kept = msgspec.convert(data["trials"], list[type(trials[0])], strict=False)
    assert {(one.arm, one.number) for one in kept} == {
        (one.arm, one.number) for one in trials
    }
    by_key = {(one.arm, one.number): one for one in kept}
    assert all(by_key[one.arm, one.number].trainings == one.trainings for one in trials)
    assert "whole, under the id" in page.text("p")


def test_hostile_records_survive_too(hostile: Reader) -> None:
    data = json.loads(hostile.data("records"))["data"]
    assert data["plan"]["script"] == HOSTILE


def test_the_same_records_give_the_same_bytes(make: SimpleNamespace) -> None:
    trials = make.trials()
    first = as_page(make.plan(), trials, make.result())
    assert as_page(make.plan(), trials[::-1], make.result()) == first


def test_long_experiments_stay_within_three_megabytes(make: SimpleNamespace) -> None:
    trials = [
        make.trial(arm, number, windows=2000)
        for number in range(1, 11)
        for arm in make.arms
    ]
    text = as_page(make.plan(), trials, make.result())
    assert len(text.encode()) < 3_000_000
    assert "thinned to about 10,000" in text
    recorded = sum(len(one.trainings[0].windows) for one in trials)
    kept = json.loads(Reader(text).data("records"))["data"]["trials"]
    assert sum(len(one["trainings"][0]["windows"]) for one in kept) <= 10_000 < recorded


def test_the_traceback_of_a_trial_that_failed_is_shown(make: SimpleNamespace) -> None:
    trials = [make.failed_trial("mixed_float16", 1, "ValueError: no such layer")]
    reader = Reader(as_page(make.plan(), trials, make.result()))
    assert "trial 1: traceback" in reader.text("summary")
    assert "ValueError: no such layer" in reader.text("pre")


def test_a_page_without_charts_carries_no_chart_library(make: SimpleNamespace) -> None:
    assert len(as_page(make.plan(), [], make.result())) < 60_000


def test_light_and_dark_have_a_value_for_the_same_names(page: Reader) -> None:
    style = page.text("style")
    light, _, rest = style.partition("@media (prefers-color-scheme: dark)")
    dark = rest.partition("}\n}")[0]
    names = re.compile(r"--[a-z]+(?=:)")
    assert set(names.findall(light)) == set(names.findall(dark))
    used = set(re.findall(r"var\((--[a-z]+)\)", style))
    assert used <= set(names.findall(light))
