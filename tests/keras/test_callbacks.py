"""The callbacks in a user's own `fit`."""

import time

import betterhalf


def _fit(keras, data, **arguments):
    timer = betterhalf.callbacks.EpochTimer()
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(2)])
    model.compile("adam", "mse")
    began = time.perf_counter()
    history = model.fit(*data, callbacks=[timer], verbose=0, **arguments)
    return timer, history, time.perf_counter() - began


def test_the_times_are_in_the_logs_and_fit_into_the_whole(keras, data):
    timer, history, whole = _fit(keras, data, epochs=3, validation_data=data)
    assert history.history["epoch_seconds"] == timer.epoch_seconds
    assert len(timer.epoch_seconds) == 3
    assert 0 < sum(timer.epoch_seconds) < whole
    for epoch, train in zip(timer.epoch_seconds, timer.train_seconds, strict=True):
        assert 0 < train < epoch


def test_validation_is_not_training(keras, data):
    class Slow(betterhalf.callbacks.keras.callbacks.Callback):
        def on_test_end(self, logs=None):
            time.sleep(0.2)

    timer = betterhalf.callbacks.EpochTimer()
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(2)])
    model.compile("adam", "mse")
    model.fit(
        *data, epochs=2, validation_data=data, callbacks=[timer, Slow()], verbose=0
    )
    assert timer.epoch_seconds[1] - timer.train_seconds[1] > 0.2
    assert timer.train_seconds[1] < timer.epoch_seconds[1] - 0.2


def test_a_second_fit_starts_anew(keras, data):
    timer = betterhalf.callbacks.EpochTimer()
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(2)])
    model.compile("adam", "mse")
    for epochs in (3, 2):
        model.fit(*data, epochs=epochs, callbacks=[timer], verbose=0)
    assert len(timer.epoch_seconds) == 2


def test_keras_keeps_its_asynchronous_dispatch(keras):
    timer = betterhalf.callbacks.EpochTimer()
    callbacks = keras.callbacks.CallbackList([timer])
    without = keras.callbacks.CallbackList([])
    assert callbacks._async_train == without._async_train
