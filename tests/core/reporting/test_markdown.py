from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from betterhalf.records.result import Caveat, Result
from betterhalf.reporting import markdown
from betterhalf.reporting.words import one_line


if TYPE_CHECKING:
    from betterhalf.records.plan import Plan
    from betterhalf.records.trial import Trial


HOSTILE = '</script><img src=x onerror="1"> `a` | *b* _c_ [d](http://e) <!-- -->'
parser = MarkdownIt("commonmark").enable("table")
awkward = st.text(st.sampled_from(list("ab1 `*_[]()<>|~&#!\\-+=.:\"'\n")), max_size=40)


def visible(source: str) -> str:
    """What a reader sees of the only paragraph, by a parser that is not ours."""
    tokens = [token for token in parser.parse(source) if token.type == "inline"]
    children = [child for token in tokens for child in token.children or []]
    assert {child.type for child in children} <= {"text", "text_special", "code_inline"}
    return "".join(child.content for child in children)


@given(st.one_of(awkward, st.text(st.characters(codec="utf-8"), max_size=60)))
def test_escaped_prose_reads_as_it_was_written(text: str) -> None:
    assert visible(markdown.escape(text)) == one_line(text)


@given(awkward.filter(lambda text: one_line(text) != ""))
def test_a_code_span_holds_its_text_whatever_it_is(text: str) -> None:
    tokens = parser.parseInline(f"x {markdown.code(text)} y")[0].children or []
    assert [token.type for token in tokens] == ["text", "code_inline", "text"]
    assert tokens[1].content == one_line(text)


@given(awkward)
def test_a_fence_holds_its_lines_whatever_they_are(text: str) -> None:
    tokens = parser.parse(markdown.fence(text, "diff"))
    assert [token.type for token in tokens] == ["fence"]
    assert tokens[0].content.rstrip("\n") == text.rstrip("\n")


def test_names_that_look_like_markup_come_out_harmless(make: SimpleNamespace) -> None:
    arms = tuple(
        make.arm_result(name, sentence=HOSTILE, reference=HOSTILE)
        for name in ("float32", "mixed_bfloat16")
    )
    odd = make.arm_result("mixed_bfloat16", arm=HOSTILE, sentence=HOSTILE)
    result = make.result(
        arms=(*arms, odd),
        script=HOSTILE,
        caveats=(Caveat(code=HOSTILE, text=HOSTILE, todo=HOSTILE),),
    )
    trials = [make.failed_trial(HOSTILE, 1, HOSTILE)]
    tokens = parser.parse(markdown.as_markdown(make.plan(), trials, result))
    kinds = {child.type for token in tokens for child in token.children or []}
    assert not {"html_block"} & {token.type for token in tokens}
    assert kinds <= {
        "text",
        "text_special",
        "code_inline",
        "strong_open",
        "strong_close",
    }


def test_the_verdict_comes_first_and_the_table_has_a_row_an_arm(
    plan: Plan, trials: list[Trial], result: Result
) -> None:
    text = markdown.as_markdown(plan, trials, result)
    assert text.index("SPEED ONLY.") < text.index("| arm |")
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == [arm.arm for arm in result.arms]
    assert len({row.count(" | ") for row in rows}) == 1


def test_a_pipe_in_a_name_ends_no_cell(make: SimpleNamespace) -> None:
    arm = make.arm_result("mixed_bfloat16", arm="a|b")
    text = markdown.as_markdown(make.plan(), [], make.result(arms=(arm,)))
    tokens = parser.parse(text)
    cells = [token for token in tokens if token.type == "td_open"]
    heads = [token for token in tokens if token.type == "th_open"]
    assert len(cells) == len(heads)


def test_the_edit_and_the_command_can_be_copied(
    plan: Plan, trials: list[Trial], result: Result
) -> None:
    text = markdown.as_markdown(plan, trials, result)
    fences = {t.info: t.content for t in parser.parse(text) if t.type == "fence"}
    assert fences["diff"] == result.diff
    assert fences["sh"].startswith("betterhalf compare --arms")
