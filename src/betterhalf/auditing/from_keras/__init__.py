"""Makes a `ModelView` out of a live Keras model: the only part that knows Keras."""

from betterhalf.auditing.from_keras.reading import read_model as read_model
