from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from betterhalf.records import codec, events
from betterhalf.records.environment import Environment
from betterhalf.records.plan import Slot
from betterhalf.records.timeline import Series, Timeline
from betterhalf.records.training import (
    Checks,
    Epoch,
    Evaluation,
    Memory,
    Training,
    Window,
)
from betterhalf.records.trial import Failure, Note, Repair
from betterhalf.trials.endings import Ending
from betterhalf.trials.folding import count_whole_steps, fold, read_events


SLOT = Slot(arm="float32", number=1)
DONE = Ending(exit_code=0, seconds=9.0)
TRACEBACK = (
    "Traceback (most recent call last):\n"
    '  File "train.py", line 3, in <module>\n'
    "    model.fit(x)\n"
    "ValueError: no data\n"
)

finite = st.floats(0, 1e6)
small = st.integers(0, 3)
logs = st.dictionaries(st.sampled_from(["loss", "val_loss", "acc"]), st.floats())
windows = st.builds(
    Window, epoch=small, steps=st.integers(1, 99), seconds=finite, steady=st.booleans()
)
epochs = st.builds(
    Epoch,
    index=small,
    seconds=finite,
    train_seconds=finite,
    steps=st.integers(0, 99),
    complete=st.booleans(),
    logs=logs,
)
kinds = st.sampled_from(["fit", "train_on_batch", "loop"])
any_event = st.one_of(
    st.builds(events.Started, at=finite, pid=st.integers(1, 99)),
    st.builds(
        events.Noted, at=finite, note=st.builds(Note, code=st.text(), text=st.text())
    ),
    st.builds(
        events.TrainingBegan,
        at=finite,
        ordinal=small,
        kind=kinds,
        model=st.text(),
        planned_epochs=st.none() | st.integers(1, 9),
        steps_per_epoch=st.none() | st.integers(1, 9),
    ),
    st.builds(
        events.FirstStepEnded,
        at=finite,
        ordinal=small,
        startup_seconds=finite,
        steps_per_epoch=st.none() | st.integers(1, 9),
    ),
    st.builds(events.WindowClosed, at=finite, ordinal=small, window=windows),
    st.builds(events.EpochEnded, at=finite, ordinal=small, epoch=epochs),
    st.builds(
        events.TrainingEnded,
        at=finite,
        ordinal=small,
        seconds=finite,
        steps=st.integers(0, 999),
        cut_short=st.booleans(),
        checks=st.none() | st.builds(Checks),
    ),
    st.builds(
        events.Evaluated,
        at=finite,
        evaluation=st.builds(
            Evaluation,
            model=st.text(),
            after_training=st.none() | small,
            seconds=finite,
            metrics=logs,
        ),
    ),
    st.builds(
        events.Raised,
        at=finite,
        failure=st.builds(Failure, kind=st.text(), message=st.text()),
    ),
    st.builds(events.Left, at=finite),
)
endings = st.builds(
    Ending,
    exit_code=st.none() | st.integers(-70, 255),
    seconds=finite,
    ended_by=st.sampled_from(["itself", "timeout", "interrupt"]),
)


def told(*parts: list[events.Event]) -> list[events.Event]:
    return [event for part in parts for event in part]


def check(trial: Any) -> None:
    """What holds of every record, and that it survives the codec."""
    assert [t.ordinal for t in trial.trainings] == list(range(len(trial.trainings)))
    assert (trial.judged_training is None) == (not trial.trainings)
    assert trial.outcome == "finished" or trial.failure or trial.outcome == "diverged"
    again = codec.decode_line(codec.encode_line(trial), type(trial))
    assert repr(again) == repr(trial)


@given(st.lists(any_event, max_size=20), endings, st.none() | small)
def test_any_events_and_any_ending_make_a_record(seen, ending, judged):
    check(fold(seen, SLOT, ending, judged=judged))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_prefix_of_a_childs_file_makes_a_record(lab, data):
    lines = b"".join(
        codec.encode_line(event)
        for event in told(
            lab.started(), lab.train(), lab.train(ordinal=1, at=9.0), lab.left()
        )
    )
    length = data.draw(st.integers(0, len(lines)))
    seen = list(read_events(lines[:length].splitlines()))
    assert len(seen) in {
        lines[:length].count(b"\n"),
        lines[:length].count(b"\n") + 1,  # the newline alone was torn off
    }
    check(fold(seen, SLOT, DONE))


@given(st.lists(st.binary(max_size=40)))
def test_garbage_is_passed_over(lines):
    assert list(read_events(lines)) == []


def test_an_event_of_a_later_release_is_passed_over(lab):
    lines = [codec.encode_line(event) for event in lab.train()]
    lines.insert(1, b'{"event": "invented-later", "at": 1.0}\n')
    lines.insert(2, b'{"event": "left"}\n')
    assert list(read_events(lines)) == lab.train()


def test_the_samples_of_a_training_come_through(lab):
    checks, memory = Checks(layers=3), Memory(peak_bytes=7, kind="resident")
    seen = lab.train(0.1, at=2.0, checks=checks, memory=memory)
    trial = fold(seen, SLOT, DONE)
    training = trial.judged_training
    assert training is not None
    assert training.windows == tuple(
        e.window for e in seen if isinstance(e, events.WindowClosed)
    )
    assert training.startup_seconds == 1.0
    assert training.first_step_at_seconds == 3.0
    assert training.steps_per_epoch == 100
    assert training.planned_epochs == 5
    assert (training.seconds, training.steps, training.cut_short) == (7.0, 40, True)
    assert [epoch.logs["accuracy"] for epoch in training.epochs] == [0.9]
    assert (trial.checks, trial.memory) == (checks, memory)


def test_what_a_child_told_besides_comes_through():
    environment = Environment(python="3.11", platform="Linux", cores=2)
    repair = Repair(code="c", where="w", before="b", after="a", reason="r")
    note = Note(code="policy-overridden", text="t")
    evaluation = Evaluation(
        model="m", after_training=None, seconds=1.0, metrics={"loss": 1.0}
    )
    trial = fold(
        [
            events.EnvironmentSeen(at=0.0, environment=environment),
            events.Repaired(at=0.0, repair=repair),
            events.Noted(at=0.0, note=note),
            events.Evaluated(at=0.0, evaluation=evaluation),
        ],
        SLOT,
        DONE,
    )
    assert trial.environment == environment
    assert (trial.repairs, trial.notes) == ((repair,), (note,))
    assert trial.evaluations == (evaluation,)


def test_a_training_that_was_killed_keeps_what_was_seen(lab):
    seen = [e for e in lab.train(at=1.0) if not isinstance(e, events.TrainingEnded)]
    trial = fold(seen, SLOT, Ending(exit_code=-9, seconds=8.0))
    training = trial.judged_training
    assert training is not None
    assert training.steps == 40
    assert training.seconds == 6.0
    assert trial.checks is None
    assert trial.outcome == "crashed"


@pytest.mark.parametrize(
    ("kinds", "lengths", "judged"),
    [
        (["fit", "fit"], [10, 20], 1),
        (["fit", "fit"], [20, 20], 0),
        (["loop", "fit"], [900, 5], 1),
        (["loop", "train_on_batch"], [5, 900], 1),
        (["fit", "loop", "fit"], [3, 900, 4], 2),
    ],
)
def test_the_longest_fit_is_judged_else_the_longest_other(lab, kinds, lengths, judged):
    seen = told(
        *(
            [
                events.TrainingBegan(at=0.0, ordinal=n, kind=kind, model="m"),
                events.TrainingEnded(at=1.0, ordinal=n, seconds=1.0, steps=length),
            ]
            for n, (kind, length) in enumerate(zip(kinds, lengths, strict=True))
        )
    )
    assert fold(seen, SLOT, DONE).judged == judged


def test_a_training_that_was_cut_short_counts_as_long_as_it_was_planned():
    base = Training(ordinal=0, kind="fit", model="m", steps=40)
    capped = msgspec.structs.replace(base, cut_short=True, planned_epochs=5)
    known = msgspec.structs.replace(capped, steps_per_epoch=100)
    stopped = msgspec.structs.replace(known, cut_short=False)
    assert [count_whole_steps(t) for t in (base, capped, known, stopped)] == [
        40,
        200,
        500,
        40,
    ]


def test_what_the_first_trial_showed_is_judged_in_later_ones(lab):
    seen = told(lab.train(ordinal=0), lab.train(ordinal=1, planned_epochs=1))
    assert fold(seen, SLOT, DONE).judged == 0
    assert fold(seen, SLOT, DONE, judged=1).judged == 1
    assert fold(seen[:8], SLOT, DONE, judged=1).judged == 0


NAN = float("nan")


@pytest.mark.parametrize(
    "bad",
    [
        {"logs": {"loss": NAN}},
        {"logs": {"loss": 1.0, "val_loss": NAN}},
        {"checks": Checks(non_finite_state=("dense/kernel",))},
    ],
)
def test_a_loss_or_weights_that_are_not_finite_are_a_divergence(lab, bad):
    assert fold(lab.train(**bad), SLOT, DONE).outcome == "diverged"


@pytest.mark.parametrize(
    "fine",
    [
        {"logs": {"loss": float("inf"), "val_loss": 1.0}},
        {"logs": {"loss": NAN}, "checks": Checks(skipped_steps=1, applied_steps=9)},
    ],
)
def test_a_bad_batch_in_a_training_with_good_weights_is_no_divergence(lab, fine):
    assert fold(lab.train(**fine), SLOT, DONE).outcome == "finished"


def test_a_bad_batch_does_not_excuse_weights_that_are_not_finite(lab):
    bad = Checks(skipped_steps=1, applied_steps=9, non_finite_state=("dense/bias",))
    logs = {"loss": NAN, "val_loss": 1.0}
    assert fold(lab.train(logs=logs, checks=bad), SLOT, DONE).outcome == "diverged"


def test_the_validation_in_float32_goes_to_its_training(lab):
    again = events.ValidationRecomputed(at=9.0, ordinal=0, metrics={"val_mse": 2.0})
    trial = fold(told(lab.train(), [again]), SLOT, DONE)
    assert trial.trainings[0].validation_float32 == {"val_mse": 2.0}


def test_an_evaluation_that_is_not_finite_is_a_divergence(lab):
    def evaluated(after, loss):
        evaluation = Evaluation(
            model="cnn", after_training=after, seconds=1.0, metrics={"loss": loss}
        )
        return [events.Evaluated(at=9.0, evaluation=evaluation)]

    def outcome(*parts):
        return fold(told(lab.train(), *parts), SLOT, DONE).outcome

    assert outcome(evaluated(0, NAN)) == "diverged"
    assert outcome(evaluated(0, NAN), evaluated(0, 1.0)) == "finished"
    assert outcome(evaluated(None, NAN)) == "finished"


def test_another_training_that_diverged_does_not_count(lab):
    seen = told(
        lab.train(ordinal=0), lab.train(ordinal=1, planned_epochs=1, logs={"loss": NAN})
    )
    assert fold(seen, SLOT, DONE).outcome == "finished"


def test_a_metric_that_is_not_finite_is_no_divergence(lab):
    assert fold(lab.train(logs={"loss": 1.0, "auc": NAN}), SLOT, DONE).outcome == (
        "finished"
    )


def test_who_left_has_finished_however_the_process_ended(lab):
    seen = told(lab.train(), lab.left())
    for ending in (
        Ending(exit_code=-9, seconds=1.0),
        Ending(exit_code=1, seconds=1.0, ended_by="timeout"),
        Ending(exit_code=-15, seconds=1.0, ended_by="interrupt"),
    ):
        trial = fold(seen, SLOT, ending)
        assert (trial.outcome, trial.failure) == ("finished", None)


@pytest.mark.parametrize(
    ("ending", "outcome", "kind"),
    [
        (
            Ending(exit_code=-15, seconds=20.4, ended_by="timeout"),
            "timed-out",
            "timeout",
        ),
        (
            Ending(exit_code=-15, seconds=2.0, ended_by="interrupt"),
            "interrupted",
            "interrupt",
        ),
        (Ending(exit_code=137, seconds=2.0), "crashed", "exit"),
        (Ending(exit_code=-9, seconds=2.0), "crashed", "SIGKILL"),
        (Ending(exit_code=-11, seconds=2.0), "crashed", "SIGSEGV"),
        (Ending(exit_code=-99, seconds=2.0), "crashed", "signal 99"),
        (Ending(exit_code=None, seconds=2.0), "crashed", "exit"),
    ],
)
def test_how_a_process_ended_is_the_outcome(lab, ending, outcome, kind):
    trial = fold(lab.train(), SLOT, ending)
    assert (trial.outcome, trial.failure.kind) == (outcome, kind)
    assert trial.exit_code == ending.exit_code


def test_a_script_that_trained_and_leaves_with_its_own_code_has_finished(lab):
    trial = fold(lab.train(), SLOT, Ending(exit_code=3, seconds=2.0))
    assert (trial.outcome, trial.failure, trial.exit_code) == ("finished", None, 3)
    assert [note.code for note in trial.notes] == ["exit-code"]


@pytest.mark.parametrize("cut", [0, 3])
def test_a_script_that_leaves_before_its_training_has_ended_has_crashed(lab, cut):
    trial = fold(lab.train()[:cut], SLOT, Ending(exit_code=3, seconds=2.0))
    assert (trial.outcome, trial.failure.kind) == ("crashed", "exit")


def test_an_exception_is_told_with_the_scripts_own_traceback(lab):
    failure = Failure(kind="ValueError", message="no data", traceback=TRACEBACK)
    seen = [events.Raised(at=3.0, failure=failure)]
    trial = fold(seen, SLOT, Ending(exit_code=1, seconds=2.0))
    assert (trial.outcome, trial.failure) == ("crashed", failure)


def test_a_traceback_that_only_the_log_has_is_read_from_there(lab):
    log = f"hello\n{TRACEBACK}\ngoodbye\n"
    trial = fold([], SLOT, Ending(exit_code=1, seconds=2.0), log=log)
    assert trial.failure == Failure(
        kind="ValueError", message="no data", traceback=TRACEBACK
    )


def test_a_traceback_whose_end_is_missing_is_no_failure_to_quote(lab):
    log = TRACEBACK[: TRACEBACK.index("ValueError")]
    trial = fold([], SLOT, Ending(exit_code=1, seconds=2.0), log=log)
    assert trial.failure.kind == "exit"


def test_a_script_that_raises_after_it_diverged_has_diverged(lab):
    seen = lab.train(logs={"loss": NAN})
    trial = fold(seen, SLOT, Ending(exit_code=1, seconds=2.0), log=TRACEBACK)
    assert trial.outcome == "diverged"
    assert trial.failure.kind == "ValueError"


@pytest.mark.parametrize(
    "message",
    [
        "MemoryError",
        "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 9 GiB",
        "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 9 bytes.",
        "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9 GiB",
        "RuntimeError: CUDA error: out of memory",
        "RuntimeError: DefaultCPUAllocator: can't allocate memory: you tried",
        "OSError: [Errno 12] Cannot allocate memory",
    ],
)
def test_want_of_memory_is_an_outcome_of_its_own(message):
    traceback = f"Traceback (most recent call last):\n  File\n{message}\n"
    ending = Ending(exit_code=1, seconds=2.0)
    assert fold([], SLOT, ending, log=traceback).outcome == "out-of-memory"
    failure = Failure(kind="E", message=message)
    raised = [events.Raised(at=1.0, failure=failure)]
    assert fold(raised, SLOT, ending).outcome == "out-of-memory"


def test_an_abort_for_want_of_memory_is_read_from_the_log():
    log = "terminate called after throwing an instance of 'std::bad_alloc'\n"
    trial = fold([], SLOT, Ending(exit_code=-6, seconds=2.0), log=log)
    assert trial.outcome == "out-of-memory"


def test_a_warning_about_memory_is_no_crash_for_want_of_it(lab):
    log = "W allocator: RESOURCE_EXHAUSTED, retrying\n"
    assert fold(lab.train(), SLOT, DONE, log=log).outcome == "finished"
    raised = [
        events.Raised(
            at=1.0,
            failure=Failure(kind="ValueError", message="no", traceback=TRACEBACK),
        )
    ]
    ending = Ending(exit_code=1, seconds=2.0)
    assert fold(raised, SLOT, ending, log=log).outcome == "crashed"


@pytest.mark.parametrize(
    ("code", "share", "outcome"),
    [
        (-9, 0.97, "out-of-memory"),
        (-9, 0.5, "crashed"),
        (-9, NAN, "crashed"),
        (-15, 0.97, "crashed"),
    ],
)
def test_a_kill_on_a_full_machine_is_the_kernels(code, share, outcome):
    used = Series(
        name="memory_used_bytes", values=(1.0,), mean=1.0, maximum=share * 1000
    )
    ending = Ending(exit_code=code, seconds=2.0, timeline=Timeline(series=(used,)))
    assert fold([], SLOT, ending, memory_bytes=1000).outcome == outcome


def test_processes_that_were_left_behind_are_noted():
    trial = fold([], SLOT, Ending(exit_code=0, seconds=1.0, left_behind=3))
    assert [note.code for note in trial.notes] == ["processes-left"]
    assert trial.notes[0].text.startswith("3 processes")
