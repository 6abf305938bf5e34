"""Several replicas never disagree about skipping; in a process with two devices."""

import os
import subprocess
import sys

import numpy as np
import pytest


MIRRORED = """
import sys
import numpy as np, tensorflow as tf
cpu = tf.config.list_physical_devices("CPU")[0]
two = [tf.config.LogicalDeviceConfiguration()] * 2
tf.config.set_logical_device_configuration(cpu, two)
import keras, betterhalf
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
x = np.random.default_rng(0).normal(size=(64, 4)).astype("float32")
y = x[:, :2].copy()
y[16 + 12] = np.nan  # of its batch of 16 rows, in the half of the second replica
def train(make):
    keras.utils.set_random_seed(0)
    with strategy.scope():
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
        model.compile(make(keras.optimizers.Adam(0.1)), "mse", jit_compile=False)
    model.fit(x, y, batch_size=16, shuffle=False, verbose=0)
    copies = [strategy.experimental_local_results(v.value) for v in model.variables]
    for copy in copies:
        np.testing.assert_array_equal(*[each.numpy() for each in copy])
    return model
model = train(betterhalf.LossScaleOptimizer)
optimizer = model.optimizer
read = lambda variable: int(tf.convert_to_tensor(variable.value))
print(optimizer.skipped_steps, read(optimizer.iterations), read(optimizer.step_counter))
print(np.isfinite(model.get_weights()[0]).all(), optimizer.loss_scale)
"""

SHARDED = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
import numpy as np, keras, betterhalf
x = np.random.default_rng(0).normal(size=(64, 4)).astype("float32")
y = x[:, :2].copy()
y[16 + 12] = np.nan
keras.distribution.set_distribution(keras.distribution.DataParallel())
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
model.compile(betterhalf.LossScaleOptimizer(keras.optimizers.Adam(0.1)), "mse")
model.fit(x, y, batch_size=16, shuffle=False, verbose=0)
for variable in model.variables:
    assert len(variable.value.sharding.device_set) == 2
    shards = [np.asarray(shard.data) for shard in variable.value.addressable_shards]
    np.testing.assert_array_equal(*shards)
optimizer = model.optimizer
print(optimizer.skipped_steps, int(optimizer.iterations), int(optimizer.step_counter))
print(np.isfinite(model.get_weights()[0]).all(), optimizer.loss_scale)
"""


def run(script, **environment):
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.split()


def need(keras, backend):
    if keras.backend.backend() != backend:
        pytest.skip(f"for {backend}")


def test_mirrored_replicas_skip_together(keras):
    need(keras, "tensorflow")
    assert run(MIRRORED) == ["1", "3", "2", "True", str(2.0**14)]


def test_sharded_devices_of_jax_skip_together(keras):
    need(keras, "jax")
    assert run(SHARDED) == ["1", "3", "2", "True", str(2.0**14)]


DISTRIBUTED = """
import sys
import numpy as np, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
import betterhalf
rank = int(sys.argv[1])
meet, of_keras = f"file://{sys.argv[2]}", sys.argv[3] == "keras"
dist.init_process_group("gloo", init_method=meet, rank=rank, world_size=2)
torch.manual_seed(0)
if of_keras:
    import keras
    keras.utils.set_random_seed(0)
    inside = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    variables, inner = inside.trainable_variables, keras.optimizers.Adam(0.1)
else:
    inside = torch.nn.Linear(4, 2)
    inner = torch.optim.Adam(inside.parameters(), lr=0.1)
model = DistributedDataParallel(inside)
optimizer = betterhalf.LossScaleOptimizer(inner)
x = torch.ones(8, 4)
for step in range(4):
    y = torch.zeros(8, 2)
    if step == 1 and rank == 1:
        y[0] = torch.nan
    model.zero_grad()
    optimizer.scale_loss(((model(x) - y) ** 2).mean()).backward()
    if of_keras:
        optimizer.apply([each.value.grad for each in variables], variables)
    else:
        optimizer.step()
weights = [each.detach().numpy().tolist() for each in model.parameters()]
print(optimizer.skipped_steps, int(optimizer.iterations), weights)
dist.destroy_process_group()
"""


@pytest.mark.parametrize("kind", ["torch", "keras"])
def test_processes_of_torch_skip_together(keras, tmp_path, kind):
    need(keras, "torch")
    children = [
        subprocess.Popen(
            [
                *(sys.executable, "-c", DISTRIBUTED),
                *(str(rank), str(tmp_path / "meet"), kind),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    outputs = [child.communicate(timeout=300) for child in children]
    assert [child.returncode for child in children] == [0, 0], outputs
    assert outputs[0][0] == outputs[1][0]
    assert outputs[0][0].startswith("1 3 ")
    assert np.isfinite(eval(outputs[0][0].split(maxsplit=2)[2])[0]).all()
