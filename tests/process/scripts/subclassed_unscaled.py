# backends: tensorflow jax torch
import keras
import numpy as np
from keras.layers import Dense


class Regressor(keras.Model):
    def __init__(self):
        super().__init__()
        self.net = keras.Sequential([Dense(32, "relu"), Dense(1)])

    def call(self, x):
        return self.net(x)

    def train_step(self, *args):
        return getattr(self, f"{keras.backend.backend()}_step")(*args)

    def tensorflow_step(self, data):
        import tensorflow as tf
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x=x, y=y, y_pred=self(x, training=True))
        variables = self.trainable_variables
        self.optimizer.apply(tape.gradient(loss, variables), variables)
        self.metrics[0].update_state(loss)
        return {"loss": self.metrics[0].result()}

    def torch_step(self, data):
        x, y = data
        self.zero_grad()
        loss = self.compute_loss(x=x, y=y, y_pred=self(x, training=True))
        loss.backward()
        weights = self.trainable_weights
        self.optimizer.apply([weight.value.grad for weight in weights], weights)
        self.metrics[0].update_state(loss)
        return {"loss": self.metrics[0].result()}

    def jax_step(self, state, data):
        import jax
        (x, y), (weights, others, slots, metrics) = data, state

        def loss_and_others(weights):
            y_pred, new_others = self.stateless_call(weights, others, x)
            return self.compute_loss(x=x, y=y, y_pred=y_pred), new_others

        gradient = jax.value_and_grad(loss_and_others, has_aux=True)
        (loss, others), grads = gradient(weights)
        weights, slots = self.optimizer.stateless_apply(slots, grads, weights)
        metrics = self.metrics[0].stateless_update_state(metrics, loss)
        logs = {"loss": self.metrics[0].stateless_result(metrics)}
        return logs, (weights, others, slots, metrics)


x = np.random.default_rng(3).normal(size=(1280, 10)).astype("float32")
model = Regressor()
model.compile(optimizer="adam", loss="mse")
model.fit(x, x[:, :2].sum(axis=1, keepdims=True), epochs=3, verbose=2)
print("trained", model.count_params(), "weights")
