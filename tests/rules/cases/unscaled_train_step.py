from betterhalf.auditing.view import (
    ModelView,
    OptimizerView,
    StepView,
    TrainStepView,
)


def trained(optimizer, **facts):
    return ModelView(optimizers=(optimizer,), **facts)


def step(*scaled, **facts):
    return TrainStepView(
        applied=("self.optimizer",), scaled=scaled, takes_gradients=True, **facts
    )


PLAIN = OptimizerView()
WRAPPED = OptimizerView(wrapper="LossScaleOptimizer")

FOUND = {
    "by the source": trained(WRAPPED, train_step=step()),
    "by a traced step": trained(WRAPPED, step=StepView(applied=("optimizer",))),
}
SILENT = {
    "Keras's own step": trained(WRAPPED),
    "scaled": trained(WRAPPED, train_step=step("self.optimizer")),
    "scaled in the trace, whatever the source looks like": trained(
        WRAPPED,
        train_step=step(),
        step=StepView(applied=("optimizer",), scaled=("optimizer",)),
    ),
    "left to Keras": trained(WRAPPED, train_step=step(calls_super=True)),
    "not wrapped, which another rule looks at": trained(PLAIN, train_step=step()),
}
