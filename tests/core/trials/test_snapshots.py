from __future__ import annotations

from pathlib import Path

from betterhalf.trials import snapshots
from betterhalf.trials.snapshots import MOST_LISTED, list_changes, take_snapshot


def snap():
    return take_snapshot(Path.cwd(), Path.cwd() / "out" / "store")


def test_files_that_came_went_or_changed_are_listed():
    for name in ("kept", "gone", "changed"):
        Path(name).write_text("a")
    Path("sub").mkdir()
    before = snap()
    Path("gone").unlink()
    Path("changed").write_text("longer")
    Path("sub/new").write_text("")
    assert list_changes(before, snap()) == ("changed", "gone", "sub/new")


def test_what_is_ours_or_nobodys_is_not_looked_at():
    Path("out/store").mkdir(parents=True)
    before = snap()
    for folder in (".betterhalf", ".git", "__pycache__", "out/store", "a/b"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        Path(folder, "file").write_text("")
    assert list_changes(before, snap()) == ()


def test_a_huge_folder_is_looked_at_in_part_and_never_mistaken(monkeypatch):
    monkeypatch.setattr(snapshots, "MOST_ENTRIES", 10)
    for n in range(30):
        Path(f"b{n:02}").write_text("")
    before = snap()
    assert len(before) == 10
    Path("a").write_text("pushes another one out of the part that is looked at")
    Path("b01").write_text("changed")
    assert list_changes(before, snap()) == ("b01",)


def test_a_long_list_is_cut():
    for n in range(MOST_LISTED + 9):
        Path(f"{n:03}").write_text("")
    assert len(list_changes({}, snap())) == MOST_LISTED


def test_links_are_not_followed(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "far/file").write_text("")
    Path("link").symlink_to(tmp_path / "far")
    Path("file-link").symlink_to(tmp_path / "far/file")
    assert snap() == {}


def test_a_folder_that_cannot_be_read_is_an_empty_one(tmp_path):
    assert take_snapshot(tmp_path / "gone", tmp_path) == {}
