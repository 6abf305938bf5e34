"""Times whole epochs of `cifar10_synthetic.py` with Keras alone, betterhalf aside.

python cifar10_epochs.py POLICY EPOCHS: the last line of its output is a JSON list of
the seconds of each epoch.
"""

import json
import runpy
import sys
import time
from pathlib import Path

import keras


SCRIPT = Path(__file__).with_name("cifar10_synthetic.py")
POLICY, EPOCHS = sys.argv[1], int(sys.argv[2])
seconds = []


class Timer(keras.callbacks.Callback):
    """From the end of an epoch to the end of the next one, as a user waits."""

    def on_train_begin(self, logs=None):
        """Starts the clock."""
        self.began = time.perf_counter()

    def on_epoch_end(self, epoch, logs=None):
        """Keeps the time since the epoch before."""
        now = time.perf_counter()
        seconds.append(now - self.began)
        self.began = now


def fit(self, *args, **kwargs):
    kwargs.update(epochs=EPOCHS, verbose=0, callbacks=[Timer()])
    return plain_fit(self, *args, **kwargs)


plain_fit = keras.Model.fit
keras.Model.fit = fit
keras.config.set_dtype_policy(POLICY)
runpy.run_path(str(SCRIPT), run_name="__main__")
print(json.dumps(seconds))
