"""Records as people read them: terminal, Markdown, one HTML page, live progress.

Nothing here finds out anything: every figure and every sentence comes from the records,
and what differs between the forms is layout alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from betterhalf.records.plan import Plan
    from betterhalf.records.result import Result
    from betterhalf.records.trial import Trial


REPORTS = ("report.md", "report.html")
"""Files that `write_reports` makes in a run store."""


def write_reports(
    folder: Path, plan: Plan, trials: Sequence[Trial], result: Result
) -> None:
    """Writes `report.md` and `report.html` into `folder`, each whole or not at all.

    A file is written beside its place and renamed into it. The same records give the
    same bytes: no clock time, host or folder is in them.

    Args:
        folder: of the run store; it exists.
        plan: of the experiment.
        trials: those that have ended, in any order.
        result: what was judged of them.

    Raises:
        OSError: the folder cannot be written.
    """
    # the chart library takes a second to load, which reading a record should not cost
    from betterhalf.reporting.markdown import as_markdown  # noqa: PLC0415
    from betterhalf.reporting.page import as_page  # noqa: PLC0415

    for name, write in zip(REPORTS, (as_markdown, as_page), strict=True):
        content = write(plan, trials, result).encode("utf-8", "backslashreplace")
        beside = folder / f".{name}.part"
        try:
            beside.write_bytes(content)
            beside.replace(folder / name)
        finally:
            beside.unlink(missing_ok=True)
