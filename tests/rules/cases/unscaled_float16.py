from betterhalf.auditing.view import (
    CompileView,
    LayerView,
    ModelView,
    OptimizerView,
    StepView,
    TrainStepView,
    WeightView,
)


def trained(*optimizers, dtype="float16", trainable=True, **facts):
    weight = WeightView(trainable=trainable)
    return ModelView(
        layers=(LayerView(), LayerView(compute_dtype=dtype, weights=(weight,))),
        optimizers=optimizers,
        compiled=CompileView(),
        **facts,
    )


PLAIN = OptimizerView()
WRAPPED = OptimizerView(wrapper="LossScaleOptimizer")
CRITIC = OptimizerView(attribute="critic_optimizer", compiled=False)
OWN = TrainStepView(applied=("self.critic_optimizer",), takes_gradients=True)

FOUND = {
    "a plain optimizer": trained(PLAIN),
    "one of two, by the source": trained(WRAPPED, CRITIC, train_step=OWN),
    "one of a loop": trained(CRITIC, step=StepView(applied=("critic_optimizer",))),
}
SILENT = {
    "wrapped": trained(WRAPPED),
    "bfloat16": trained(PLAIN, dtype="bfloat16"),
    "float32": trained(PLAIN, dtype="float32"),
    "nothing to train in float16": trained(PLAIN, trainable=False),
    "scaled by a fixed factor": trained(
        OptimizerView(config={"loss_scale_factor": 1024.0})
    ),
    "the compiled one is never used": trained(
        PLAIN, train_step=TrainStepView(applied=("self.other",))
    ),
}
