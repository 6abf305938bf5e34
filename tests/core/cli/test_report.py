from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from betterhalf.cli import main


if TYPE_CHECKING:
    from pathlib import Path

    from betterhalf.trials.store import Store


MADE = ("result.json", "report.md", "report.html")


def test_what_was_deleted_is_made_again_byte_for_byte(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(store.folder)]) == 0
    first = capsys.readouterr().out
    before = {name: (store.folder / name).read_bytes() for name in MADE}
    for name in MADE:
        (store.folder / name).unlink()
    assert main(["report", str(store.folder)]) == 0
    assert {name: (store.folder / name).read_bytes() for name in MADE} == before
    assert capsys.readouterr().out == first


def test_markdown_on_stdout_is_the_report_in_the_store(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", "--format", "markdown", str(store.folder)]) == 0
    assert capsys.readouterr().out == (store.folder / "report.md").read_text("utf-8")


def test_no_report_names_the_folder_that_it_is_in(store: Store) -> None:
    main(["report", str(store.folder)])
    for name in MADE:
        assert str(store.folder).encode() not in (store.folder / name).read_bytes()


def test_a_folder_that_is_no_run_store_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(tmp_path)]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "Expected plan.json of a run store" in told.err
    assert "Traceback" not in told.err
    assert list(tmp_path.iterdir()) == []
