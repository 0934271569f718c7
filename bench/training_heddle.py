"""Our side of bench/training.py: the losses of its cases as calls of operators."""
import numpy as np

import heddle
import train_characters
import train_shapes

ops = heddle.load_library()


def start(threads, is_cold):
    """To be called first. Cold: nothing that is compiled is kept on disk or taken from there."""
    global THREADS
    THREADS = threads
    if is_cold:
        heddle.use_cache(None)


def _mlp(weights, x, kinds):
    for at in range(3):
        x = x @ weights[f"{at}.weight"] + weights[f"{at}.bias"]
        x = ops.call("relu", x) if at < 2 else ops.call("log_softmax", x)
    return ops.call("nll_loss_joined", x, kinds, mean=True)


def _resnet_block(weights, x, target):
    zero, one = np.zeros(64, np.float32), np.ones(64, np.float32)

    def normed(values, at):
        values = ops.call("conv", values, weights[f"{at}.filter"], pads=[1, 1, 1, 1])
        return ops.call("batch_norm_training", values, weights[f"{at}.scale"], weights[f"{at}.shift"], zero, one)[0]
    y = ops.call("relu", normed(ops.call("relu", normed(x, 0)), 1) + x)
    return ops.call("reduce_mean", (y - target) * (y - target))


def _transformer_layer(weights, x, target):
    error = train_characters.layer(weights, x, 0) - target
    return ops.call("reduce_mean", error * error)


def _kernel(operator):
    return lambda inputs, adjoint, *others: ops.call("reduce_sum", operator(inputs, *others) * adjoint)


LOSSES = {
    "mlp": _mlp, "resnet_block": _resnet_block, "transformer_layer": _transformer_layer,
    "characters": train_characters.loss, "shapes": train_shapes.loss,
    "softmax": _kernel(lambda i: ops.call("softmax", i["x"])),
    "layer_norm": _kernel(lambda i: ops.call("layer_norm", i["x"], i["scale"], i["shift"])[0]),
    "matmul": _kernel(lambda i: i["a"] @ i["b"]),
    "conv2d": _kernel(lambda i: ops.call("conv", i["x"], i["filter"], pads=[1, 1, 1, 1])),
    "max_pool": _kernel(lambda i: ops.call("max_pool", i["x"], kernel=[2, 2], strides=[2, 2])[0]),
    "gelu": _kernel(lambda i: ops.call("gelu", i["x"])),
    "log_sum_exp": _kernel(lambda i: ops.call("reduce_log_sum_exp", i["x"], axes=[1], keepdims=False)),
    "cumsum": _kernel(lambda i: ops.call("cumsum", i["x"], axis=1)),
    "gather": _kernel(lambda i, ids: ops.call("gather", i["table"], ids)),
    "scatter_add": _kernel(lambda i, ids: ops.call("scatter_nd_add", i["x"], ops.call("unsqueeze", ids, axes=[1]), i["updates"])),
}


def arrays(tree):
    return tree


def wait(tree):
    """Results are there when a call ends."""


def function_of(case, what):
    loss = LOSSES[case]
    if what == "forward":
        return heddle.function(loss, threads=THREADS)
    return (heddle.grad if what == "gradient" else heddle.value_and_grad)(loss, threads=THREADS)


def step_of(case, optimiser):
    """From (weights, states of the optimiser, number, rate, *batch) to new weights and states, in place of the old ones, and the
    loss."""
    def updated(weight, slope, states, number, rate):
        if optimiser == "adamw":
            return ops.call("adamw", weight, slope, *states, number, rate)
        return ops.call("momentum", weight, slope, *states, rate)

    def step(weights, states, number, rate, *batch):
        value, slopes = heddle.value_and_grad(LOSSES[case])(weights, *batch)
        new = {name: updated(weight, slopes[name], [state[name] for state in states], number, rate)
               for name, weight in weights.items()}
        parts = [{name: results[at] for name, results in new.items()} for at in range(len(states) + 1)]
        return parts[0], parts[1:], value
    return heddle.function(step, threads=THREADS, donate=["weights", "states"])
