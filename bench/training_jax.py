"""JAX's side of bench/training.py: the same losses, as one would write them there, jitted."""
import os

import jax
import jax.numpy as jnp
from jax import lax


def start(threads, is_cold):
    """To be called first. XLA has as many threads as there are cores that the process may use; it keeps nothing on disk."""
    if len(os.sched_getaffinity(0)) != threads:
        raise SystemExit("the worker has not bound itself to its cores")


def _mlp(weights, x, kinds):
    for at in range(3):
        x = x @ weights[f"{at}.weight"] + weights[f"{at}.bias"]
        x = jax.nn.relu(x) if at < 2 else jax.nn.log_softmax(x)
    return _negative_likelihood(x, kinds)


def _negative_likelihood(logarithms, kinds):
    return -jnp.mean(jnp.take_along_axis(logarithms, kinds[..., None], axis=-1))


def _conv(x, filters):
    return lax.conv_general_dilated(x, filters, (1, 1), [(1, 1), (1, 1)])


def _max_pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")


def _layer_norm(x, scale, shift):
    mean = jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean((x - mean)**2, axis=-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * scale + shift


def _resnet_block(weights, x, target):
    def normed(values, at):
        values = _conv(values, weights[f"{at}.filter"])
        mean = jnp.mean(values, axis=(0, 2, 3), keepdims=True)
        variance = jnp.mean((values - mean)**2, axis=(0, 2, 3), keepdims=True)
        scale, shift = (weights[f"{at}.{name}"][:, None, None] for name in ("scale", "shift"))
        return (values - mean) * lax.rsqrt(variance + 1e-5) * scale + shift
    y = jax.nn.relu(normed(jax.nn.relu(normed(x, 0)), 1) + x)
    return jnp.mean((y - target)**2)


def _layer(weights, x, at, heads=4):
    def linear(name, values):
        return values @ weights[f"{at}.{name}"] + weights[f"{at}.{name}.bias"]

    def normed(name):
        return _layer_norm(x, weights[f"{at}.{name}.scale"], weights[f"{at}.{name}.shift"])
    batch, places, width = x.shape
    values = normed("attention")
    q, k, v = (linear(name, values).reshape(batch, places, heads, width // heads) for name in ("query", "key", "value"))
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / (width // heads)**.5
    scores = jnp.where(jnp.tril(jnp.ones((places, places), bool)), scores, -jnp.inf)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)
    x = x + linear("joined", mixed.reshape(batch, places, width))
    return x + linear("narrow", jax.nn.gelu(linear("wide", normed("hidden")), approximate=False))


def _transformer_layer(weights, x, target):
    return jnp.mean((_layer(weights, x, 0) - target)**2)


def _characters(weights, text, following):
    x = weights["letters"][text] + weights["places"]
    for at in range(2):
        x = _layer(weights, x, at)
    x = _layer_norm(x, weights["last.scale"], weights["last.shift"])
    return _negative_likelihood(jax.nn.log_softmax(x @ weights["letters"].T), following)


def _shapes(weights, images, kinds):
    x = images
    for at in ("1", "2"):
        x = _max_pool(jax.nn.relu(_conv(x, weights["filter" + at]) + weights["bias" + at][:, None, None]))
    return _negative_likelihood(jax.nn.log_softmax(x.reshape(x.shape[0], -1) @ weights["out"] + weights["bias_out"]), kinds)


def _kernel(operator):
    return lambda inputs, adjoint, *others: jnp.sum(operator(inputs, *others) * adjoint)


LOSSES = {
    "mlp": _mlp, "resnet_block": _resnet_block, "transformer_layer": _transformer_layer, "characters": _characters, "shapes": _shapes,
    "softmax": _kernel(lambda i: jax.nn.softmax(i["x"])),
    "layer_norm": _kernel(lambda i: _layer_norm(i["x"], i["scale"], i["shift"])),
    "matmul": _kernel(lambda i: i["a"] @ i["b"]),
    "conv2d": _kernel(lambda i: _conv(i["x"], i["filter"])),
    "max_pool": _kernel(lambda i: _max_pool(i["x"])),
    "gelu": _kernel(lambda i: jax.nn.gelu(i["x"], approximate=False)),
    "log_sum_exp": _kernel(lambda i: jax.nn.logsumexp(i["x"], axis=1)),
    "cumsum": _kernel(lambda i: jnp.cumsum(i["x"], axis=1)),
    "gather": _kernel(lambda i, ids: i["table"][ids]),
    "scatter_add": _kernel(lambda i, ids: i["x"].at[ids].add(i["updates"])),
}


def arrays(tree):
    return jax.tree.map(jnp.asarray, tree)


wait = jax.block_until_ready


def function_of(case, what):
    loss = LOSSES[case]
    return jax.jit(loss if what == "forward" else jax.grad(loss) if what == "gradient" else jax.value_and_grad(loss))


def step_of(case, optimiser):
    """As ours. What a step replaces is given up to it."""
    def adamw(weight, slope, states, number, rate):
        mean, square = 0.9 * states[0] + (1 - 0.9) * slope, 0.999 * states[1] + (1 - 0.999) * slope * slope
        unbiased, root = mean / (1 - 0.9**number), jnp.sqrt(square / (1 - 0.999**number))
        return weight - rate * (unbiased / (root + 1e-8) + 0.01 * weight), mean, square

    def momentum(weight, slope, states, number, rate):
        velocity = 0.9 * states[0] + slope
        return weight - rate * velocity, velocity
    updated = {"adamw": adamw, "momentum": momentum}[optimiser]

    def step(weights, states, number, rate, *batch):
        value, slopes = jax.value_and_grad(LOSSES[case])(weights, *batch)
        new = {name: updated(weight, slopes[name], [state[name] for state in states], number, rate)
               for name, weight in weights.items()}
        parts = [{name: results[at] for name, results in new.items()} for at in range(len(states) + 1)]
        return parts[0], parts[1:], value
    return jax.jit(step, donate_argnums=(0, 1))
