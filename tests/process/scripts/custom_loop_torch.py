# backends: torch
import keras
import torch
from torch.utils.data import DataLoader, TensorDataset

generator = torch.Generator().manual_seed(16)
x = torch.randn(1280, 12, generator=generator)
y = x[:, :3].argmax(dim=1)
loader = DataLoader(TensorDataset(x, y), batch_size=32)

model = keras.Sequential(
    [
        keras.Input(shape=(12,)),
        keras.layers.Dense(32, activation="relu"),
        keras.layers.Dense(3),
    ]
)
optimizer = keras.optimizers.Adam(learning_rate=1e-3)
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def train_step(x, y):
    loss = loss_fn(y, model(x, training=True))
    model.zero_grad()
    loss.backward()
    grads = [weight.value.grad for weight in model.trainable_weights]
    with torch.no_grad():
        optimizer.apply(grads, model.trainable_weights)
    return loss.detach()


for epoch in range(3):
    for x_batch, y_batch in loader:
        loss = train_step(x_batch, y_batch)
    print(f"epoch {epoch}: loss {float(loss):.4f}")
