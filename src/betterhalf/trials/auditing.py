"""Audits what a user names, in a child process that ends where training would begin."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from betterhalf.errors import BetterhalfError, UsageError
from betterhalf.records import codec, events
from betterhalf.records.audit import Audit
from betterhalf.records.instructions import AuditRequest, Instructions
from betterhalf.records.trial import Failure
from betterhalf.trials.endings import Ending, find_failure
from betterhalf.trials.executors import AbstractExecutor, LocalExecutor
from betterhalf.trials.logs import read_end
from betterhalf.trials.programs import Program, find_program
from betterhalf.trials.saved_models import refuse_what_keras_cannot_read
from betterhalf.trials.store import TrialFiles


SAVED: Final = (".keras", ".h5", ".hdf5")
"""Ends of the names of files that `keras.saving.load_model` reads."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Audited:
    """What came of an audit.

    Attributes:
        audit: absent where no model was reached.
        content: the record as it is written to a file; empty without an audit.
        failure: why the script ended; absent where it was stopped, or ended well.
    """

    audit: Audit | None
    content: bytes
    failure: Failure | None


def audit_target(
    target: str,
    arguments: Sequence[str] = (),
    *,
    module: bool = False,
    backend: str | None = None,
    policy: str | None = None,
    select: Sequence[str] = (),
    ignore: Mapping[str, str] | None = None,
    executor: AbstractExecutor | None = None,
) -> Audited:
    """Returns what an audit of a script, a saved file or a factory found.

    A script runs as it would by itself, up to its first training step; it is ended
    there, with all that it started.

    Args:
        target: `train.py`, `model.keras`, `module:factory` or `file.py:factory`.
        arguments: of the script.
        module: the target is a module, as in `python -m`.
        backend: for Keras; the script's own choice if absent.
        policy: kept in force as the global one.
        select: rules that run; all if empty.
        ignore: findings that do not count, each with the reason.
        executor: how the child is run.

    Raises:
        UsageError: there is no such target, it is not what its name says, or it ended
            well and without a model.
        KeyboardInterrupt: Ctrl-C was pressed; nothing is left running.
    """
    program, kind, source, name = _find(target, arguments, module)
    with tempfile.TemporaryDirectory(prefix="betterhalf-") as temporary:
        files = _make_files(Path(temporary))
        request = AuditRequest(
            target=target,
            kind=kind,
            source=source,
            name=name,
            policy=policy,
            select=tuple(select),
            ignore=dict(ignore or {}),
            result=str(files.record),
        )
        instructions = Instructions(
            policy=policy or "float32",
            backend=backend,
            events=str(files.events),
            folder=str(files.folder),
            audit=request,
        )
        files.instructions.write_bytes(codec.encode_line(instructions))
        raised: list[Failure] = []

        def hear(event: events.Event) -> None:
            if isinstance(event, events.Raised):
                raised.append(event.failure)

        ending = (executor or LocalExecutor()).run(
            program, files, timeout_seconds=None, on_event=hear
        )
        if ending.interrupted:
            raise KeyboardInterrupt
        return _read(files, ending, raised, target)


def _read(
    files: TrialFiles, ending: Ending, raised: list[Failure], target: str
) -> Audited:
    content = files.record.read_bytes() if files.record.exists() else b""
    failure = None
    if ending.exit_code != 0:
        failure = find_failure(ending, next(iter(raised), None), read_end(files.log))
    if not content and failure is None:
        raise UsageError(
            f"Expected a script that builds a Keras model. Received: {target}, which "
            "ended without one. Check the script that trains, with its arguments; or "
            "name a function that returns the model, as in file.py:factory."
        )
    audit = (
        codec.decode_file(content, "audit", Audit, files.record.name)
        if content
        else None
    )
    return Audited(audit=audit, content=content, failure=failure)


def _find(
    target: str, arguments: Sequence[str], module: bool
) -> tuple[Program, Literal["script", "file", "factory"], str, str]:
    """Returns what to run, what kind of target it is, its source and its name in it."""
    path = Path(target)
    before, colon, name = target.rpartition(":")
    is_factory = bool(colon and before and name.replace(".", "").isidentifier())
    if module or (not is_factory and path.suffix not in SAVED):
        program = find_program(target, arguments, module=module)
        return program, "script", str(program.file), ""
    if arguments:
        raise UsageError(
            f"Expected no arguments behind {target}: it is no script. "
            f"Received: {' '.join(arguments)}."
        )
    if is_factory:
        if before.endswith(".py"):
            find_program(before)  # or says what is wrong with it
        return _loader(), "factory", before, name
    if not path.is_file():
        raise UsageError(
            f"Expected a saved model. Received: '{target}', which "
            f"{'is a directory' if path.is_dir() else 'does not exist'}."
        )
    refuse_what_keras_cannot_read(path)
    return _loader(), "file", target, ""


def _loader() -> Program:
    return Program(
        given="betterhalf.worker.targets",
        arguments=(),
        module=True,
        folder=Path.cwd(),
        file=Path(sys.executable),
        source=b"",
    )


def _make_files(folder: Path) -> TrialFiles:
    try:
        (folder / "files").mkdir()
    except OSError as error:
        raise BetterhalfError(
            f"Expected to make a folder for the audit. Received: {error}."
        ) from error
    return TrialFiles(
        record=folder / "audit.json",
        events=folder / "audit.jsonl",
        log=folder / "audit.log",
        folder=folder / "files",
        instructions=folder / "audit.instructions",
    )
