from __future__ import annotations

import pytest

from betterhalf.judging.metric import find_margin, find_mode, name_kind


@pytest.mark.parametrize(
    "name",
    [
        "accuracy", "val_accuracy", "sparse_categorical_accuracy", "head_accuracy_1",
        "acc", "top_k_categorical_accuracy", "auc", "val_auc_1", "precision_2",
        "recall", "f1_score", "val_fbeta_score", "mean_io_u", "binary_io_u_3", "dice",
        "precision_at_recall", "Accuracy",
    ],
)  # fmt: skip
def test_shares_are_accuracies_and_more_is_better(name):
    assert name_kind(name) == "accuracy"
    assert find_mode(name) == "max"
    assert find_margin(name, 0.9) == pytest.approx(0.005)
    assert find_margin(name, 90.0) == pytest.approx(0.5)


@pytest.mark.parametrize(
    "name",
    [
        "loss", "val_loss", "decoder_loss", "mae", "val_mse", "mean_squared_error",
        "root_mean_squared_error", "mean_absolute_percentage_error", "perplexity",
        "kl_divergence", "binary_crossentropy", "hinge", "log_cosh", "word_error",
        "accuracy_loss", "cer", "poisson",
    ],
)  # fmt: skip
def test_losses_and_errors_are_errors_and_less_is_better(name):
    assert name_kind(name) == "error"
    assert find_mode(name) == "min"
    assert find_margin(name, 2.0) == pytest.approx(0.02)
    assert find_margin(name, -2.0) == pytest.approx(0.02)


@pytest.mark.parametrize("name", ["r2_score", "psnr", "val_ssim", "cosine_similarity"])
def test_scores_have_a_direction_and_no_default_margin(name):
    assert find_mode(name) == "max"
    assert find_margin(name, 0.9) is None


@pytest.mark.parametrize("name", ["learning_rate", "true_positives", "x", "", "_"])
def test_a_name_that_says_nothing_gets_no_default(name):
    assert name_kind(name) == "unknown"
    assert find_mode(name) is None
    assert find_margin(name, 0.9) is None
