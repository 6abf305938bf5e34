from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from betterhalf.reporting import REPORTS, page, write_reports


if TYPE_CHECKING:
    from pathlib import Path

    from betterhalf.records.plan import Plan
    from betterhalf.records.result import Result
    from betterhalf.records.trial import Trial


def test_both_reports_are_written_and_nothing_else(
    tmp_path: Path, plan: Plan, trials: list[Trial], result: Result
) -> None:
    write_reports(tmp_path, plan, trials, result)
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted(REPORTS)


def test_writing_again_gives_the_same_bytes(
    tmp_path: Path, plan: Plan, trials: list[Trial], result: Result
) -> None:
    write_reports(tmp_path, plan, trials, result)
    before = {name: (tmp_path / name).read_bytes() for name in REPORTS}
    write_reports(tmp_path, plan, trials[::-1], result)
    assert {name: (tmp_path / name).read_bytes() for name in REPORTS} == before


def test_a_report_that_cannot_be_made_leaves_the_old_one_whole(
    tmp_path: Path,
    plan: Plan,
    trials: list[Trial],
    result: Result,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> str:
        raise OSError("no space left")

    (tmp_path / "report.html").write_text("old")
    monkeypatch.setattr(page, "as_page", fail)
    with pytest.raises(OSError, match="no space"):
        write_reports(tmp_path, plan, trials, result)
    assert (tmp_path / "report.html").read_text() == "old"
    assert not list(tmp_path.glob(".*"))
