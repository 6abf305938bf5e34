"""Loops that are not `fit`: the examples, and `torch.optim`."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import betterhalf
from betterhalf.errors import UsageError


EXAMPLES = Path(__file__).parents[3] / "examples"


def test_the_example_of_this_backend_trains_without_a_lost_step(keras, capsys):
    runpy.run_path(str(EXAMPLES / f"custom_loop_{keras.backend.backend()}.py"))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    losses = [float(loss) for _, loss, _, _ in lines]
    assert len(losses) == 3
    assert losses[-1] < 0.1
    assert int(lines[-1][-1]) <= 3  # skipped, while it looks for its scale


def test_step_is_for_torch_optim(keras):
    optimizer = betterhalf.LossScaleOptimizer(keras.optimizers.SGD(0.1))
    with pytest.raises(UsageError, match=r"torch\.optim"):
        optimizer.step()


@pytest.fixture
def torch(keras):
    if keras.backend.backend() != "torch":
        pytest.skip("torch alone")
    import torch as module

    return module


@pytest.mark.parametrize("name", ["Adam", "SGD"])
def test_an_optimizer_of_torch_takes_the_steps_it_takes_alone(torch, name):
    def train(scaled):
        torch.manual_seed(0)
        model = torch.nn.Linear(3, 2)
        native = getattr(torch.optim, name)(model.parameters(), lr=0.1)
        optimizer = betterhalf.LossScaleOptimizer(native) if scaled else None
        for _ in range(5):
            native.zero_grad()
            loss = (model(torch.ones(4, 3)) ** 2).mean()
            if optimizer is None:
                loss.backward()
                native.step()
            else:
                optimizer.scale_loss(loss).backward()
                optimizer.step()
        return model, native, optimizer

    alone, _, _ = train(scaled=False)
    model, native, optimizer = train(scaled=True)
    for one, other in zip(model.parameters(), alone.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-7)
    before = [each.detach().clone() for each in model.parameters()]
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, torch.nan)
    optimizer.step()
    for one, other in zip(model.parameters(), before, strict=True):
        assert torch.equal(one, other)
    assert (optimizer.skipped_steps, int(optimizer.iterations)) == (1, 5)
    assert optimizer.learning_rate == native.param_groups[0]["lr"]
    with pytest.raises(UsageError, match="state_dict"):
        optimizer.get_config()


def test_sparse_gradients_of_torch_are_divided(torch):
    table = torch.nn.Embedding(10, 2, sparse=True)
    before = table.weight.detach().clone()
    optimizer = betterhalf.LossScaleOptimizer(torch.optim.SGD(table.parameters(), 1.0))
    optimizer.scale_loss(table(torch.tensor([3, 3])).sum()).backward()
    optimizer.step()
    assert table.weight.grad.is_sparse
    moved = (before - table.weight.detach()).numpy()
    np.testing.assert_allclose(moved[3], [2, 2], rtol=1e-6)
    assert not moved[:3].any()
