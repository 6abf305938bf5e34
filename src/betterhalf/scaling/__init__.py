"""Loss scaling: `LossScaleOptimizer`, in `optimizer`; importing that imports keras."""
