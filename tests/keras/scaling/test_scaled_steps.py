"""One step after the other: what a good one does, and that a bad one does nothing."""

import numpy as np
import pytest

import betterhalf
from betterhalf.errors import UsageError
from betterhalf.precision.loss_scale import LossScaleRule, LossScaleState


BAD = np.array([np.inf, 1.0])
INNER = {
    "adam": lambda keras: keras.optimizers.Adam(0.1),
    "sgd": lambda keras: keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True),
    "clipnorm": lambda keras: keras.optimizers.Adam(0.1, clipnorm=0.5),
    "global_clipnorm": lambda keras: keras.optimizers.Adam(0.1, global_clipnorm=0.5),
    "clipvalue": lambda keras: keras.optimizers.SGD(0.1, clipvalue=0.2),
    "weight_decay": lambda keras: keras.optimizers.AdamW(0.1, weight_decay=0.1),
    "ema": lambda keras: keras.optimizers.Adam(
        0.1, use_ema=True, ema_momentum=0.9, ema_overwrite_frequency=3
    ),
    "accumulation": lambda keras: keras.optimizers.Adam(
        0.1, gradient_accumulation_steps=3
    ),
    "schedule": lambda keras: keras.optimizers.SGD(
        keras.optimizers.schedules.ExponentialDecay(0.1, 1, 0.5)
    ),
    "rmsprop": lambda keras: keras.optimizers.RMSprop(0.1, centered=True),
    "adafactor": lambda keras: keras.optimizers.Adafactor(0.1),
    "lion": lambda keras: keras.optimizers.Lion(0.1),
}


def ours(inner, **options):
    return betterhalf.LossScaleOptimizer(inner, **options)


def draw(count, seed=0):
    generator = np.random.default_rng(seed)
    return [
        [generator.normal(size=shape).astype("float32") for shape in ((2,), (3, 2))]
        for _ in range(count)
    ]


@pytest.mark.parametrize("inner", INNER)
def test_a_skipped_step_leaves_everything_as_it_was(keras, trainer, inner):
    taker = trainer(ours(INNER[inner](keras)), np.ones(2), np.ones((3, 2)))
    for gradients in draw(4):
        taker.step(*[each * taker.optimizer.loss_scale for each in gradients])
    before = taker.everything()
    taker.step(BAD, np.ones((3, 2)))
    taker.step(np.ones(2), np.full((3, 2), np.nan))
    for was, now in zip(before, taker.everything(), strict=True):
        np.testing.assert_array_equal(was, now)
    assert taker.optimizer.skipped_steps == 2


@pytest.mark.parametrize("inner", INNER)
def test_good_steps_are_those_of_the_inner_optimizer(keras, trainer, inner):
    plain = trainer(ours(INNER[inner](keras), mode="off"), np.ones(2), np.ones((3, 2)))
    scaled = trainer(ours(INNER[inner](keras)), np.ones(2), np.ones((3, 2)))
    for gradients in draw(7):
        plain.step(*gradients)
        scaled.step(*[each * scaled.optimizer.loss_scale for each in gradients])
    for expected, now in zip(plain.everything(), scaled.everything(), strict=True):
        np.testing.assert_allclose(now, expected, rtol=2e-6, atol=1e-7)


def test_the_state_follows_the_rule_exactly(keras, trainer):
    options = {"growth_interval": 3, "hysteresis": 2, "floor": 0.5, "ceiling": 2.0**16}
    optimizer = ours(keras.optimizers.SGD(0.1), **options)
    taker = trainer(optimizer, np.ones(2))
    rule = LossScaleRule(**options)
    state = LossScaleState(2.0**15)
    searching = True
    for good in np.random.default_rng(1).random(60) < 0.6:
        taker.step(np.ones(2) if good else BAD)
        if good:
            state = rule.after_good_step(state)
        else:
            state = rule.after_bad_step(state, searching=searching)
        searching = searching and not good
        assert optimizer.loss_scale == state.scale
        assert int(optimizer.step_counter) == state.counter
        assert optimizer.skipped_steps == state.skipped


@pytest.mark.parametrize("scale", [0.0, np.inf])
def test_a_ruined_state_of_keras_is_healed(keras, trainer, scale):
    taker = trainer(ours(keras.optimizers.SGD(0.5)), np.ones(2))
    taker.optimizer.dynamic_scale.assign(scale)
    healed = taker.optimizer.loss_scale
    assert healed == (2.0**24 if scale else 2.0**-14)
    loss = keras.ops.convert_to_tensor(np.float32(3.0))
    assert float(taker.optimizer.scale_loss(loss)) == 3 * healed
    taker.step(np.full(2, healed))
    np.testing.assert_array_equal(taker.everything()[0], [0.5, 0.5])
    assert float(taker.optimizer.dynamic_scale) == healed


@pytest.mark.parametrize("trainer", ["compiled"], indirect=True)
def test_two_hundred_bad_steps_and_a_good_one_ruin_nothing(keras, trainer):
    optimizer = ours(keras.optimizers.Adam(0.1), patience=1000)
    taker = trainer(optimizer, np.ones(2))
    for _ in range(200):
        taker.step(BAD)
    assert optimizer.loss_scale == 2.0**-14
    taker.step(np.ones(2) * optimizer.loss_scale)
    np.testing.assert_allclose(taker.everything()[0], 0.9, rtol=1e-5)


def test_gradients_that_are_finite_but_huge_are_good(keras, trainer):
    taker = trainer(ours(keras.optimizers.SGD(2.0**-90)), np.zeros(2), np.zeros(2))
    taker.step(np.full(2, 3e38), np.full(2, 3e38))
    assert taker.optimizer.skipped_steps == 0
    assert np.all(taker.everything()[0] < 0)


@pytest.mark.filterwarnings("ignore:Gradients do not exist")
def test_a_gradient_that_is_none_leaves_its_variable(keras, trainer):
    taker = trainer(ours(keras.optimizers.SGD(0.5)), np.ones(2), np.ones(2))
    taker.step(np.full(2, 2.0**15), None)
    np.testing.assert_array_equal(taker.everything()[0], [0.5, 0.5])
    np.testing.assert_array_equal(taker.everything()[1], [1, 1])


def test_without_variables_it_steps_on_those_it_was_built_with(keras):
    variables = [keras.Variable(np.ones(2, "float32"))]
    optimizer = ours(keras.optimizers.SGD(0.5))
    optimizer.build(variables)
    optimizer.apply([keras.ops.full((2,), 2.0**15)])
    np.testing.assert_array_equal(variables[0].numpy(), [0.5, 0.5])


def test_variables_that_take_their_gradient_as_it_is_get_it_undivided(keras, trainer):
    taker = trainer(ours(keras.optimizers.SGD(0.5)), np.ones(2), np.ones(2))
    taker.variables[0].overwrite_with_gradient = True
    taker.step(np.full(2, 7.0), np.full(2, 2.0**15))
    np.testing.assert_array_equal(taker.everything()[0], [7, 7])
    np.testing.assert_array_equal(taker.everything()[1], [0.5, 0.5])
    taker.step(BAD, np.ones(2))
    np.testing.assert_array_equal(taker.everything()[0], [7, 7])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_gradients_of_16_bit_variables_are_divided_in_float32(keras, dtype):
    variables = [
        keras.Variable(np.ones(2), dtype=dtype),
        keras.Variable(np.ones(3), dtype="float32"),
    ]
    optimizer = ours(keras.optimizers.SGD(2.0**14))
    small = [keras.ops.ones(2, dtype) * 2**-10, keras.ops.ones(3) * 2**-10]
    optimizer.apply(small, variables)
    step = 2.0**14 * 2**-10 / 2**15
    for variable in variables:
        values = keras.ops.convert_to_numpy(variable.value).astype("float32")
        np.testing.assert_allclose(values, 1 - step, rtol=4e-3)
    optimizer.apply([small[0] * np.inf, small[1]], variables)
    assert optimizer.skipped_steps == 1


def test_the_gradients_that_were_given_stay_as_they_are(keras):
    gradients = [keras.ops.convert_to_tensor(np.ones(2, "float32"))]
    optimizer = ours(keras.optimizers.SGD(0.5))
    optimizer.apply(gradients, [keras.Variable(np.ones(2, "float32"))])
    np.testing.assert_array_equal(keras.ops.convert_to_numpy(gradients[0]), [1, 1])


def test_large_targets_find_their_scale_in_three_steps(keras, trainer):
    taker = trainer(ours(keras.optimizers.SGD(0.1)), np.ones(2))
    while taker.optimizer.skipped_steps == 0 or taker.optimizer.iterations == 0:
        taker.step(BAD if taker.optimizer.loss_scale > 16 else np.ones(2))
    assert (taker.optimizer.skipped_steps, taker.optimizer.loss_scale) == (3, 8.0)
    taker.step(BAD)
    assert taker.optimizer.loss_scale == 4.0


def test_a_fixed_factor_of_the_user_is_a_static_scale(keras, trainer):
    optimizer = ours(keras.optimizers.SGD(0.5, loss_scale_factor=1024.0))
    assert (optimizer.mode, optimizer.initial_scale) == ("static", 1024.0)
    taker = trainer(optimizer, np.ones(2))
    taker.step(BAD)
    assert optimizer.loss_scale == 1024.0
    taker.step(np.full(2, 1024.0))
    np.testing.assert_array_equal(taker.everything()[0], [0.5, 0.5])


def test_off_passes_on_and_needs_no_branch_in_the_loop(keras, trainer):
    optimizer = betterhalf.LossScaleOptimizer.for_policy(
        keras.optimizers.SGD(0.5), "mixed_bfloat16"
    )
    assert optimizer.mode == "off"
    assert optimizer.scale_loss(3.0) == 3.0
    taker = trainer(optimizer, np.ones(2))
    taker.step(np.ones(2))
    np.testing.assert_array_equal(taker.everything()[0], [0.5, 0.5])
    for policy in ("mixed_float16", keras.DTypePolicy("float16")):
        chosen = betterhalf.LossScaleOptimizer.for_policy(
            keras.optimizers.SGD(0.5), policy
        )
        assert chosen.mode == "dynamic"
    assert optimizer.for_policy(keras.optimizers.SGD(0.5)).mode == "off"  # float32


def test_it_is_an_optimizer_of_keras_with_the_learning_rate_inside(keras):
    optimizer = ours(keras.optimizers.Adam(0.25))
    assert isinstance(optimizer, keras.optimizers.LossScaleOptimizer)
    assert float(optimizer.learning_rate) == 0.25
    optimizer.learning_rate = 0.125
    assert float(optimizer.inner_optimizer.learning_rate) == 0.125


@pytest.mark.parametrize(
    "options",
    [
        {"floor": 0.0},
        {"floor": 2.0, "ceiling": 1.0},
        {"initial_scale": -1.0},
        {"initial_scale": np.inf},
        {"growth_factor": 0.5},
        {"backoff_factor": 0.0},
        {"search_factor": 1.5},
        {"growth_interval": 0},
        {"growth_interval": 3, "dynamic_growth_steps": 4},
        {"hysteresis": 1.5},
        {"patience": 0},
        {"mode": "maybe"},
        {"on_failure": "shrug"},
    ],
)
def test_options_that_make_no_sense_are_refused(keras, options):
    with pytest.raises(UsageError, match=r"expected .* Received: "):
        ours(keras.optimizers.SGD(0.1), **options)


def test_two_scales_at_once_are_refused(keras):
    with pytest.raises(UsageError, match="loss_scale_factor"):
        ours(keras.optimizers.SGD(0.1, loss_scale_factor=8.0), initial_scale=4.0)
