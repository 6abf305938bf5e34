"""About how long an experiment takes, as far as its trials have shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean

from betterhalf.judging.samples import keep_known, whole_seconds
from betterhalf.records.plan import Slot
from betterhalf.records.trial import Trial


def expect_total(
    ended: Sequence[Trial], remaining: Iterable[Slot], elapsed_seconds: float
) -> float:
    """Returns the seconds that the whole experiment is expected to take.

    A trial to come takes as long as those of its arm and stage did, else as long as
    those of its stage, else as long as the steps of a short trial extrapolate to.

    Args:
        ended: trials of this experiment; at least one.
        remaining: trials to come, as far as is known.
        elapsed_seconds: since the experiment began.
    """
    return elapsed_seconds + sum(expect_trial(ended, slot) for slot in remaining)


def expect_trial(ended: Sequence[Trial], slot: Slot) -> float:
    """Returns the seconds that the trial of `slot` is expected to take; 0 if unknown.

    Args:
        ended: trials of this experiment, in any order.
        slot: the trial to come.
    """
    same_stage = [trial for trial in ended if trial.stage == slot.stage]
    same_arm = [trial for trial in same_stage if trial.arm == slot.arm]
    known = same_arm or same_stage
    if known:
        return fmean(_seconds_as_short(trial) for trial in known)
    short_of_arm = [trial for trial in ended if trial.arm == slot.arm]
    whole = keep_known(whole_seconds(trial) for trial in short_of_arm or ended)
    return fmean(whole) if whole else 0.0


def _seconds_as_short(trial: Trial) -> float:
    """Returns a trial's time without what the first one alone goes through.

    The first trial goes through the whole script; later ones leave after the training
    that is judged.
    """
    training = trial.judged_training
    if trial.stage != 1 or training is None or training.first_step_at_seconds is None:
        return trial.seconds
    before = training.first_step_at_seconds - (training.startup_seconds or 0.0)
    return min(trial.seconds, before + training.seconds)
