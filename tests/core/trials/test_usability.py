from __future__ import annotations

import pytest

from betterhalf.errors import UsageError
from betterhalf.records.plan import Slot
from betterhalf.trials.endings import Ending
from betterhalf.trials.folding import fold
from betterhalf.trials.usability import list_metrics, refuse_unusable


def ended(lab, *seen, **ending):
    how = Ending(**{"exit_code": 0, "seconds": 1.0, **ending})
    return fold(
        [event for part in seen for event in part],
        Slot(arm="float32", number=1),
        how,
    )


def test_a_script_that_never_trains_is_told(lab):
    with pytest.raises(UsageError, match=r"that trains.*train\.py, which ended"):
        refuse_unusable(lab.plan(), ended(lab, lab.started()))


def test_a_script_that_failed_before_it_trained_is_not_told_so(lab):
    refuse_unusable(lab.plan(), ended(lab, lab.started(), exit_code=1))


def test_a_metric_that_does_not_exist_is_answered_with_those_that_do(lab):
    trial = ended(lab, lab.train(logs={"loss": 1.0, "val_loss": 1.0, "auc": 0.5}))
    with pytest.raises(UsageError, match=r"loss, val_loss, auc\. Received: 'acc'"):
        refuse_unusable(lab.plan(metric="acc"), trial)


@pytest.mark.parametrize("metric", ["val_auc", "auc", None])
def test_a_metric_may_be_named_without_its_prefix(lab, metric):
    trial = ended(lab, lab.train(logs={"loss": 1.0, "val_auc": 0.5}))
    refuse_unusable(lab.plan(metric=metric), trial)


def test_a_validation_that_a_short_trial_did_not_come_to_may_be_there(lab):
    trial = ended(lab, lab.train(logs={"loss": 1.0}))
    refuse_unusable(lab.plan(metric="val_auc"), trial)
    with pytest.raises(UsageError, match="'auc'"):
        refuse_unusable(lab.plan(metric="auc"), trial)
    whole = ended(lab, lab.train(logs={"loss": 1.0}, cut_short=False))
    with pytest.raises(UsageError, match="'val_auc'"):
        refuse_unusable(lab.plan(metric="val_auc"), whole)


def test_a_loop_that_logs_nothing_has_no_metric(lab):
    trial = ended(lab, lab.train(kind="loop", logs={}, cut_short=False))
    assert list_metrics(trial) == []
    with pytest.raises(UsageError, match="no metric at all"):
        refuse_unusable(lab.plan(metric="loss"), trial)
    refuse_unusable(lab.plan(), trial)
