from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from betterhalf.cli import main
from betterhalf.trials import comparing
from betterhalf.trials.comparing import judge_again


if TYPE_CHECKING:
    from pathlib import Path
    from types import SimpleNamespace

    from betterhalf.trials.reading import Experiment
    from betterhalf.trials.store import Store


class Conductor:
    """Stands in for what runs trials; keeps what it was asked for."""

    def __init__(self, ends: Experiment | BaseException) -> None:
        self.ends = ends
        self.script = ""
        self.arguments: tuple[str, ...] = ()
        self.options: dict[str, Any] = {}

    def __call__(
        self, script: str, arguments: tuple[str, ...], **options: Any
    ) -> Experiment:
        self.script, self.arguments, self.options = script, arguments, options
        if isinstance(self.ends, BaseException):
            options["observer"].on_message("Interrupted. Go on with: --resume")
            raise self.ends
        return self.ends


@pytest.fixture
def conductor(store: Store, monkeypatch: pytest.MonkeyPatch) -> Conductor:
    made = Conductor(judge_again(store.folder))
    monkeypatch.setattr(comparing, "conduct", made)
    monkeypatch.setattr("betterhalf.cli._output.write_reports", lambda *_: None)
    return made


def test_everything_behind_the_script_is_its_own(conductor: Conductor) -> None:
    main(["compare", "--quick", "train.py", "--runs", "9", "--help", "--", "-m"])
    assert conductor.script == "train.py"
    assert conductor.arguments == ("--runs", "9", "--help", "--", "-m")
    assert conductor.options["runs"] == 3
    assert conductor.options["module"] is False


def test_a_module_takes_all_that_follows_as_python_does(conductor: Conductor) -> None:
    main(["compare", "--runs", "5", "-m", "pack.train", "--quick", "-m", "x"])
    assert conductor.script == "pack.train"
    assert conductor.arguments == ("--quick", "-m", "x")
    assert conductor.options["module"] is True
    assert conductor.options["quick"] is False


def test_every_option_arrives_as_it_was_meant(conductor: Conductor) -> None:
    given = (
        "--arms float32,16-mixed@jax --backend jax --keep-seeds --quick --runs 4 "
        "--max-runs 8 --epochs 2 --steps 50 --budget 30m --trial-timeout 90s "
        "--metric val_loss --mode min --margin 0.01 --min-speedup 1.2 --on ray=here "
        "--launcher torchrun --out kept --resume train.py"
    )
    main(["compare", *given.split()])
    options = dict(conductor.options)
    del options["observer"]
    assert options == {
        "module": False,
        "arms": "float32,16-mixed@jax",
        "backend": "jax",
        "keep_seeds": True,
        "quick": True,
        "runs": 4,
        "max_runs": 8,
        "epochs": 2,
        "steps": 50,
        "budget": 1800.0,
        "trial_timeout": 90.0,
        "metric": "val_loss",
        "mode": "min",
        "margin": 0.01,
        "min_speedup": 1.2,
        "on": "ray=here",
        "launcher": "torchrun",
        "out": "kept",
        "resume": True,
    }


@pytest.mark.parametrize(
    "given", [["--on", "ray"], ["--launcher", "torchrun"], ["--runs", "0"]]
)
def test_what_cannot_be_done_is_refused_before_anything_starts(
    given: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("import keras\n")
    assert main(["compare", *given, "train.py"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert len(told.err.splitlines()) == 1
    assert "Received:" in told.err
    assert [one.name for one in tmp_path.iterdir()] == ["train.py"]


def test_the_last_line_of_stdout_is_the_verdict(
    conductor: Conductor, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", "train.py"]) == 0
    told = capsys.readouterr()
    assert told.out.splitlines()[-1].endswith("accuracy was not judged. SPEED ONLY.")
    assert told.err == ""


def test_stdout_is_the_very_result_where_json_is_asked_for(
    conductor: Conductor, store: Store, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    main(["compare", "--format", "json", "train.py"])
    told = capsysbinary.readouterr()
    assert told.out == (store.folder / "result.json").read_bytes()


def test_ctrl_c_says_how_to_go_on_and_returns_130(
    conductor: Conductor, capsys: pytest.CaptureFixture[str]
) -> None:
    conductor.ends = KeyboardInterrupt()
    assert main(["compare", "train.py"]) == 130
    told = capsys.readouterr()
    assert told.out == ""
    assert "Go on with: --resume" in told.err
    assert "Traceback" not in told.err


def test_the_traceback_of_a_failed_reference_is_shown_as_python_would(
    conductor: Conductor,
    store: Store,
    records: SimpleNamespace,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for trial in records.make_trials():
        store.locate(records.Slot(arm=trial.arm, number=trial.number)).record.unlink()
    store.write_trial(records.make_failed_trial("float32", 1, "ValueError: no layer"))
    conductor.ends = judge_again(store.folder)
    assert main(["compare", "train.py"]) == 4
    told = capsys.readouterr().err
    assert told == 'Traceback:\n  File "train.py"\nValueError: no layer\n'


def test_the_answer_is_out_before_a_report_can_fail(
    conductor: Conductor,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("betterhalf.cli._output.write_reports", fail)
    assert main(["compare", "train.py"]) == 4
    told = capsys.readouterr()
    assert told.out.splitlines()[-1].endswith("SPEED ONLY.")
    assert "No space left" in told.err
