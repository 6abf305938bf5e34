# backends: tensorflow jax torch
import keras
import numpy as np
from keras.layers import Dense


class Classifier(keras.Model):
    def __init__(self):
        super().__init__()
        self.net = keras.Sequential([Dense(32, "relu"), Dense(3, "softmax")])

    def call(self, x):
        return self.net(x)

    def train_step(self, *args):
        return getattr(self, f"{keras.backend.backend()}_step")(*args)

    def tensorflow_step(self, data):
        import tensorflow as tf
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x=x, y=y, y_pred=self(x, training=True))
            scaled = self.optimizer.scale_loss(loss)
        variables = self.trainable_variables
        self.optimizer.apply(tape.gradient(scaled, variables), variables)
        self.metrics[0].update_state(loss)
        return {"loss": self.metrics[0].result()}

    def torch_step(self, data):
        x, y = data
        self.zero_grad()
        loss = self.compute_loss(x=x, y=y, y_pred=self(x, training=True))
        self.optimizer.scale_loss(loss).backward()
        weights = self.trainable_weights
        self.optimizer.apply([weight.value.grad for weight in weights], weights)
        self.metrics[0].update_state(loss)
        return {"loss": self.metrics[0].result()}

    def jax_step(self, state, data):
        import jax
        (x, y), (weights, others, slots, metrics) = data, state

        def scaled_loss(weights):
            y_pred, new_others = self.stateless_call(weights, others, x)
            loss = self.compute_loss(x=x, y=y, y_pred=y_pred)
            with keras.StatelessScope(list(zip(self.optimizer.variables, slots))):
                return self.optimizer.scale_loss(loss), (loss, new_others)
        grads, (loss, others) = jax.grad(scaled_loss, has_aux=True)(weights)
        weights, slots = self.optimizer.stateless_apply(slots, grads, weights)
        metrics = self.metrics[0].stateless_update_state(metrics, loss)
        logs = {"loss": self.metrics[0].stateless_result(metrics)}
        return logs, (weights, others, slots, metrics)


x = np.random.default_rng(2).normal(size=(1280, 10)).astype("float32")
model = Classifier()
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(x, x[:, :3].argmax(axis=1), epochs=3, verbose=2)
print("trained", model.count_params(), "weights")
