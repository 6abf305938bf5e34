from __future__ import annotations

import signal
from pathlib import Path

import pytest

from betterhalf.errors import UsageError
from betterhalf.records import events
from betterhalf.records.trial import Failure, Note
from betterhalf.trials.experiment import Sitting, _holding_back_interrupt


class Bench:
    """An experiment of float32 and mixed_bfloat16, three blocks, with no children."""

    def __init__(self, lab, source="import keras\n", **options):
        self.lab = lab
        self.program = lab.program(source)
        self.plan = lab.plan(self.program, **options)
        self.store = lab.store(self.plan)
        self.clock = lab.clock()
        self.watcher = lab.recorder()

    def run(self, script=None):
        self.executor = self.lab.executor(script or self.lab.good, self.clock)
        self.watcher = self.lab.recorder()
        Sitting(
            self.plan,
            self.program,
            self.store,
            self.executor,
            self.watcher,
            clock=self.clock,
        ).run()

    def failing(self, policy, **how):
        """A script that fails under `policy`."""

        def script(instructions, n):
            if instructions.policy == policy:
                return [], {"exit_code": 1, **how}
            return self.lab.good(instructions, n)

        return script

    @property
    def trials(self):
        return self.store.read_trials(self.plan)

    @property
    def ran(self):
        return [(i.policy, i.block + 1) for i in self.executor.instructed]


@pytest.fixture
def bench(lab):
    return Bench(lab)


ORDER = [
    ("float32", 1),
    ("mixed_bfloat16", 1),
    ("mixed_bfloat16", 2),
    ("float32", 2),
    ("float32", 3),
    ("mixed_bfloat16", 3),
]


def test_trials_run_in_the_order_of_the_plan_and_are_all_kept(bench):
    bench.run()
    assert bench.ran == ORDER
    assert [(t.arm, t.number) for t in bench.trials] == ORDER
    assert {t.outcome for t in bench.trials} == {"finished"}


def test_a_trial_is_on_the_disk_before_anyone_hears_of_it(bench):
    counted = []
    bench.watcher.on_trial_ended = lambda trial: counted.append(len(bench.trials))
    executor = bench.lab.executor(bench.lab.good)
    Sitting(bench.plan, bench.program, bench.store, executor, bench.watcher).run()
    assert counted == [1, 2, 3, 4, 5, 6]


def test_an_observer_hears_everything_in_order(bench):
    bench.run()
    kinds = [told[0] for told in bench.watcher.told if told[0] != "event"]
    assert kinds == ["began", "ended", "expected", *["began", "ended"] * 5]
    assert [(i, n) for _, i, n in bench.watcher.list("began")] == [
        (n, 6) for n in range(1, 7)
    ]
    slots = {slot for slot, _ in bench.watcher.list("event")}
    assert slots == set(bench.plan.order)


def test_the_expected_total_is_told_after_the_first_trial(bench):
    bench.run()
    # the first took 9 s, of which 8 are imports and the judged training
    assert bench.watcher.list("expected") == [(9.0 + 5 * 8.0,)]


def test_only_the_first_trial_goes_through_the_whole_script(lab, bench):
    def two_fits(instructions, n):
        seen = [*lab.train(planned_epochs=1), *lab.train(ordinal=1, at=20.0)]
        return [*lab.started(), *seen, *([] if n == 0 else lab.left())], {}

    bench.run(two_fits)
    assert [i.judged for i in bench.executor.instructed] == [None, 1, 1, 1, 1, 1]
    assert {t.judged for t in bench.trials} == {1}


def test_instructions_say_how_a_trial_is_to_run(lab):
    bench = Bench(
        lab, arms="mixed_float16@torch+raw", steps=7, epochs=2, keep_seeds=True
    )
    bench.run()
    last = bench.executor.instructed[-1]
    assert (last.policy, last.backend, last.raw) == ("mixed_float16", "torch", True)
    assert (last.block, last.keep_seeds, last.short) == (2, True, True)
    assert (last.steps, last.epochs) == (7, 2)
    assert (last.steady_seconds, last.steady_steps) == (4.0, 30)
    assert Path(last.events).is_absolute()
    assert Path(last.folder).is_absolute()


def test_nothing_of_the_instructions_stays(bench):
    bench.run()
    names = sorted(path.name for path in (bench.store.folder / "trials").iterdir())
    assert len(names) == 18
    assert {Path(name).suffix for name in names} == {".json", ".jsonl", ".log"}


def test_files_that_a_script_saved_through_keras_stay(lab, bench):
    def saves(instructions, n):
        (Path(instructions.folder) / "weights.h5").write_text("")
        return lab.good(instructions, n)

    bench.run(saves)
    assert (bench.store.folder / "trials/float32-1/weights.h5").exists()


def test_a_trial_that_fails_is_an_outcome_and_the_rest_goes_on(bench):
    bench.run(bench.failing("mixed_bfloat16", log="Killed\n"))
    assert bench.ran == ORDER
    outcomes = [(t.arm, t.outcome, t.log_tail) for t in bench.trials]
    assert outcomes.count(("mixed_bfloat16", "crashed", "Killed")) == 3


@pytest.mark.parametrize("ending", [{}, {"exit_code": -9}, {"ended_by": "timeout"}])
def test_a_reference_that_fails_first_stops_everything(bench, ending):
    bench.run(bench.failing("float32", **ending))
    assert bench.ran == ORDER[:1]
    (trial,) = bench.trials
    assert trial.failure is not None
    assert bench.watcher.list("message") == [
        ("float32 failed, and without it there is no comparison.",)
    ]


def test_every_reference_can_stop_everything(lab):
    bench = Bench(lab, arms="mixed_float16@jax,mixed_float16@torch")

    def script(instructions, n):
        good, how = lab.good(instructions, n)
        bad = instructions.backend == "torch" and instructions.policy == "float32"
        return (lab.started(), {"exit_code": 1}) if bad else (good, how)

    bench.run(script)
    assert [t.arm for t in bench.trials] == ["float32@jax", "float32@torch"]


def test_a_reference_that_fails_later_does_not(bench):
    def script(instructions, n):
        if instructions.policy == "float32" and instructions.block == 1:
            return [], {"exit_code": 1}
        return bench.lab.good(instructions, n)

    bench.run(script)
    assert bench.ran == ORDER


def test_a_reference_that_stopped_everything_gets_another_chance(bench):
    bench.run(bench.failing("float32"))
    bench.run()
    assert bench.ran == ORDER
    assert {t.outcome for t in bench.trials} == {"finished"}
    assert (bench.store.folder / "aside/float32-1-1/float32-1.json").exists()


def test_a_script_that_never_trains_stops_at_its_first_trial(bench):
    with pytest.raises(UsageError, match="that trains"):
        bench.run(lambda instructions, n: (bench.lab.started(), {}))
    assert bench.ran == ORDER[:1]
    with pytest.raises(UsageError, match="that trains"):
        bench.run()
    assert bench.ran == []


def test_a_script_of_keras_2_is_told_that_it_is_one(bench):
    note = Note(code="keras-2", text="the script imports tf_keras")

    def script(instructions, n):
        return [*bench.lab.started(), events.Noted(at=1.0, note=note)], {}

    with pytest.raises(UsageError, match="tf_keras"):
        bench.run(script)


def test_a_metric_that_does_not_exist_stops_at_the_first_trial(lab):
    bench = Bench(lab, metric="acuracy")
    with pytest.raises(UsageError, match=r"loss, accuracy\. Received: 'acuracy'"):
        bench.run()
    assert bench.ran == ORDER[:1]


def test_an_experiment_goes_on_where_it_stopped(bench):
    class LostError(Exception):
        pass

    def script(instructions, n):
        if n == 3:
            raise LostError
        return bench.lab.good(instructions, n)

    with pytest.raises(LostError):
        bench.run(script)
    assert len(bench.trials) == 3
    kept = [(t.arm, t.number, t.seconds) for t in bench.trials]
    bench.run()
    assert bench.ran == ORDER[3:]
    assert [i.judged for i in bench.executor.instructed] == [0, 0, 0]
    assert [(t.arm, t.number, t.seconds) for t in bench.trials][:3] == kept
    bench.run()
    assert bench.ran == []


def test_what_a_killed_parent_left_is_moved_aside_and_run_again(bench):
    bench.run()
    record = bench.store.locate(bench.plan.order[4]).record
    record.write_bytes(record.read_bytes()[:100])
    bench.store.locate(bench.plan.order[5]).record.unlink()
    bench.run()
    assert bench.ran == ORDER[4:]
    aside = {path.name for path in (bench.store.folder / "aside").iterdir()}
    assert aside == {"float32-3-1", "mixed_bfloat16-3-1"}


def test_ctrl_c_keeps_what_is_done_and_runs_that_trial_again(bench):
    def script(instructions, n):
        seen, how = bench.lab.good(instructions, n)
        if n == 2:
            return seen[:3], {
                "exit_code": -15,
                "ended_by": "interrupt",
                "interrupted": True,
            }
        return seen, how

    with pytest.raises(KeyboardInterrupt):
        bench.run(script)
    assert bench.ran == ORDER[:3]
    assert [t.outcome for t in bench.trials] == ["finished", "finished", "interrupted"]
    assert bench.watcher.list("ended")[-1][0].outcome == "interrupted"
    bench.run()
    assert bench.ran == ORDER[2:]
    assert {t.outcome for t in bench.trials} == {"finished"}


def test_ctrl_c_after_a_trial_has_ended_keeps_that_trial(bench):
    def script(instructions, n):
        seen, _ = bench.lab.good(instructions, n)
        return seen, {"interrupted": True}

    with pytest.raises(KeyboardInterrupt):
        bench.run(script)
    assert [t.outcome for t in bench.trials] == ["finished"]


def test_ctrl_c_waits_until_a_record_is_written():
    done = []

    def write():
        with _holding_back_interrupt():
            signal.raise_signal(signal.SIGINT)
            done.append("written")

    with pytest.raises(KeyboardInterrupt):
        write()
    assert done == ["written"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_script_that_is_edited_meanwhile_stops_the_experiment(bench):
    def script(instructions, n):
        if n == 1:
            Path("train.py").write_text("import keras  # edited\n")
        return bench.lab.good(instructions, n)

    with pytest.raises(UsageError, match=r"train\.py to stay as it is"):
        bench.run(script)
    assert len(bench.trials) == 2
    assert {t.script_hash for t in bench.trials} == {bench.plan.script_hash}


def test_a_budget_is_not_begun_on_a_trial_that_it_would_not_end(lab):
    # 9 s for the first, then 8 s expected of each
    bench = Bench(lab, budget=30.0)
    bench.run()
    assert bench.ran == ORDER[:3]
    assert "3 of the planned trials" in bench.watcher.list("message")[0][0]
    bench.run()
    assert bench.ran == ORDER[3:]


def test_a_trial_that_outlasts_the_budget_is_ended_and_runs_again(lab):
    bench = Bench(lab, budget=30.0, trial_timeout=25.0)

    def script(instructions, n):
        seen, how = lab.good(instructions, n)
        if n == 1:
            return seen[:3], {"ended_by": "timeout", "exit_code": -15, "seconds": 21.0}
        return seen, how

    bench.run(script)
    assert bench.executor.timeouts == [25.0, 21.0]
    assert [t.outcome for t in bench.trials] == ["finished", "interrupted"]
    assert bench.trials[1].failure == Failure(
        kind="budget", message="the budget ran out (--budget)"
    )
    bench.run()
    assert bench.ran[0] == ORDER[1]


def test_a_time_limit_reaches_every_trial(lab):
    bench = Bench(lab, trial_timeout=25.0)
    bench.run()
    assert bench.executor.timeouts == [25.0] * 6


def test_files_that_trials_change_are_listed(lab, bench):
    def script(instructions, n):
        Path("history.csv").write_text("x" * (n + 1))
        return lab.good(instructions, n)

    bench.run(script)
    assert {t.files_shared for t in bench.trials} == {("history.csv",)}


def test_no_path_of_the_user_gets_into_a_record(lab, bench):
    here, home = str(Path.cwd()), str(Path.home())
    traceback = f'Traceback (most recent call last):\n  File "{here}/train.py"\nE: no\n'

    def script(instructions, n):
        seen, _ = lab.good(instructions, n)
        if instructions.policy == "float32":
            return seen, {"log": f"saved to {here}/x and {home}/y"}
        failure = Failure(kind="E", message=f"no {here}/data", traceback=traceback)
        note = events.Noted(at=1.0, note=Note(code="c", text=f"in {home}/z"))
        return [note, events.Raised(at=1.0, failure=failure)], {"exit_code": 1}

    bench.run(script)
    written = "".join(path.read_text() for path in bench.store.folder.rglob("*.json"))
    assert here not in written
    assert home not in written
    first, second = bench.trials[:2]
    assert first.log_tail == "saved to ./x and ~/y"
    assert second.failure.message == "no ./data"
    assert 'File "./train.py"' in second.failure.traceback
    assert second.notes[0].text == "in ~/z"


def test_bytes_that_are_no_text_in_a_log_do_no_harm(lab, bench):
    bench.run(lambda i, n: (lab.good(i, n)[0], {"log": b"\xff\xfe\x00ok\n"}))
    assert bench.trials[0].log_tail == "\ufffd\ufffdok"
