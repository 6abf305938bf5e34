from __future__ import annotations

import msgspec
import pytest

from betterhalf.judging import judge
from betterhalf.trials.affording import fit_to_budget
from betterhalf.trials.experiment import Sitting


class Bench:
    """Two arms: short trials of 8 s, and full trainings of about a minute."""

    def __init__(self, lab, **options):
        self.lab = lab
        self.program = lab.program("import keras\n")
        plan = lab.plan(self.program, quick=False, **options)
        self.store = lab.store(plan)
        self.clock = lab.clock()
        self.full = []

    def script(self, instructions, n):
        slow = 1.3 if instructions.policy == "float32" else 1.0
        step_seconds = 0.1 * slow * (1.0 + 0.01 * (n % 3))
        if instructions.short:
            seen = self.lab.train(step_seconds)
            return [*self.lab.started(), *seen, *self.lab.left()], {"seconds": 8.0}
        self.full.append(instructions.block + 1)
        # so far apart that no look decides
        logs = {"loss": 1.0, "val_accuracy": 0.5 + 0.1 * (n % 4) + n / 1e4}
        seen = self.lab.train(step_seconds, logs=logs, cut_short=False)
        return [*self.lab.started(), *seen], {"seconds": 500 * step_seconds}

    def run(self, **changes):
        watcher = self.lab.recorder()
        plan = msgspec.structs.replace(self.store.read_plan(), **changes)
        executor = self.lab.executor(self.script, self.clock)
        Sitting(
            plan, self.program, self.store, executor, watcher, clock=self.clock
        ).run()
        return [told[0] for told in watcher.list("message")]

    @property
    def trials(self):
        return self.store.read_trials(self.store.read_plan())


def test_the_cost_of_full_trainings_is_said_once_before_the_first(lab):
    bench = Bench(lab)
    (told,) = bench.run()
    assert "2 arms × 3 trials" in told
    assert "if 10 of each are needed" in told
    assert "--quick" in told
    assert max(bench.full) == 10


def test_a_quick_experiment_has_no_cost_of_full_trainings(lab):
    bench = Bench(lab)
    short_alone = [s for s in bench.store.read_plan().order if s.stage == 1]
    assert bench.run(order=tuple(short_alone), quick=True) == []


def test_a_budget_lowers_the_second_look_before_there_are_data(lab):
    bench = Bench(lab, budget=48.0 + 5.5 * 125.0)
    bench.run()
    assert max(bench.full) == 5
    plan = bench.store.read_plan()
    assert max(slot.number for slot in plan.order if slot.stage == 2) == 5
    assert plan.limits.looks == (3, 10), "as the user asked"
    arm = judge(plan, bench.trials).arms[1]
    assert arm.verdict == "inconclusive"
    assert arm.trials.finished == 5


def test_a_look_that_was_lowered_stays_lowered_when_resumed(lab):
    bench = Bench(lab, budget=48.0 + 5.5 * 125.0)
    bench.run()
    bench.run(budget_seconds=1e6)
    assert max(bench.full) == 5


def test_full_trainings_that_the_budget_cannot_end_do_not_begin(lab):
    bench = Bench(lab, budget=200.0)
    cost, unaffordable = bench.run()
    assert bench.full == []
    assert "none begins" in unaffordable
    assert "2 arms × 3 trials" in cost
    bench.run(budget_seconds=1e6)
    assert max(bench.full) == 10


@pytest.mark.parametrize("blocks", [3, 7, 10, 50])
def test_as_many_blocks_are_planned_as_the_time_is_enough_for(lab, blocks):
    bench = Bench(lab)
    plan = bench.store.read_plan()
    short_alone = [slot for slot in plan.order if slot.stage == 1]
    bench.run(order=tuple(short_alone), quick=True)
    # 5 epochs of 100 steps, at 0.1 s and 0.13 s with what the first ones add
    fitted = fit_to_budget(plan, bench.trials, blocks * 125.0)
    last = max(slot.number for slot in fitted.order if slot.stage == 2)
    assert last == min(blocks, 10)
