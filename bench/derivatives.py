"""Derivatives of operators beside JAX's or PyTorch's, in float64: values, adjoints, tangents, and Hessians times vectors.

Both sides get the same inputs, away from kinks, and the same directions. What is compared is a loss, the sum of the results times
given numbers; its gradient; how results change along the directions; and how the gradient does. Prints the largest differences, as
shares of the largest element, and writes bench/results/derivatives.json. Exits with 1 if one is above 1e-10.

    python bench/derivatives.py [--peer jax|torch] [--record FILE.npz] [--quick] [NAME...]

NAME is a part of an operator's name. --record writes the peer's results, which tests/python/test_derivatives.py and --quick compare
ours with where there is no peer. PyTorch (2 GB with what it needs) is taken from the environment, or else from one of its own.
"""
import argparse
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / folder) for folder in ("bench", "build/python")]

import numpy as np

import reports

def recorded(peer):
    """What the peer's results were, in a file."""
    return dict(np.load(ROOT / f"tests/python/derivatives_of_{peer}.npz"))


LIMIT = 1e-10
POSITIVE, INSIDE, ANY = (0.4, 2), (-0.9, 0.9), (-1.3, 1.2)

# By name: the operator's inputs, as (shape, range).
CASES = {
    "exp": [((4, 6), ANY)], "log": [((4, 6), POSITIVE)], "tanh": [((4, 6), ANY)], "sigmoid": [((4, 6), ANY)],
    "gelu": [((4, 6), ANY)], "silu": [((4, 6), ANY)], "softplus": [((4, 6), ANY)], "mish": [((4, 6), ANY)],
    "erf": [((4, 6), ANY)], "atanh": [((4, 6), INSIDE)], "asinh": [((4, 6), ANY)], "expm1": [((4, 6), ANY)],
    "sqrt": [((4, 6), POSITIVE)], "rsqrt": [((4, 6), POSITIVE)], "relu": [((4, 6), ANY)], "elu": [((4, 6), ANY)],
    "div": [((3, 4), ANY), ((4,), POSITIVE)], "power": [((3, 4), POSITIVE), ((4,), ANY)],
    "atan2": [((3, 4), POSITIVE), ((4,), POSITIVE)], "maximum": [((3, 4), ANY), ((3, 4), ANY)],
    "softmax": [((4, 6), ANY)], "log_softmax": [((4, 6), ANY)], "layer_norm": [((4, 6), ANY), ((6,), POSITIVE), ((6,), ANY)],
    "rms_norm": [((4, 6), ANY), ((6,), POSITIVE)], "reduce_log_sum_exp": [((4, 6), ANY)], "reduce_prod": [((4, 6), POSITIVE)],
    "reduce_max": [((4, 6), ANY)], "reduce_l2": [((4, 6), ANY)], "cumsum": [((4, 6), ANY)], "cumprod": [((4, 6), POSITIVE)],
    "linear_recurrence": [((5, 3), INSIDE), ((5, 3), ANY)], "numpy_matmul": [((2, 3, 4), ANY), ((4, 5), ANY)],
    "conv": [((2, 4, 7, 6), ANY), ((6, 2, 3, 2), ANY), ((6,), ANY)], "max_pool": [((1, 2, 7, 6), ANY)],
    "transpose": [((2, 3, 4), ANY)], "pad": [((4, 6), ANY)], "gather": [((5, 3), ANY)], "sort": [((4, 6), ANY)],
    "attention": [((1, 4, 3, 2), ANY), ((1, 4, 3, 2), ANY), ((1, 4, 3, 2), ANY)],
}
INDICES = [4, 1, -1, 0]


def ours(ops, name, inputs):
    if name == "conv":
        return ops.call(name, *inputs, group=2, strides=[2, 1], pads=[1, 0, 1, 2], dilations=[1, 2])
    if name == "max_pool":
        return ops.call(name, *inputs, kernel=[3, 2], strides=[2, 1])
    if name == "gather":
        return ops.call(name, *inputs, np.int64(INDICES))
    if name == "pad":
        return ops.call(name, *inputs, pads=[1, 2, 2, 1], mode="reflect")
    if name == "attention":
        return ops.call(name, *inputs, causal=True)
    along = {"softmax": 1, "log_softmax": 1, "layer_norm": 1, "cumsum": 1, "cumprod": 1, "linear_recurrence": 0, "sort": 1}
    if name in along:
        return ops.call(name, *inputs, axis=along[name])
    if name.startswith("reduce_"):
        return ops.call(name, *inputs, axes=[1])
    return ops.call(name, *inputs)


def theirs(name, inputs):
    import jax
    import jax.numpy as jnp
    from jax import lax

    def normed(x, scale, shift):
        mean = jnp.mean(x, axis=-1, keepdims=True)
        return (x - mean) * lax.rsqrt(jnp.mean((x - mean)**2, axis=-1, keepdims=True) + 1e-5) * scale + shift

    def attention(q, k, v):
        scores = q @ jnp.swapaxes(k, -1, -2) / q.shape[-1]**.5
        return jax.nn.softmax(jnp.where(jnp.tri(q.shape[-2], dtype=bool), scores, -jnp.inf)) @ v

    def recurrence(a, x):
        step = lambda h, at: (at[0] * h + at[1],) * 2
        return lax.scan(step, jnp.zeros_like(x[0]), (a, x))[1]
    functions = {
        "gelu": lambda x: jax.nn.gelu(x, approximate=False), "power": jnp.power, "div": jnp.divide, "atan2": jnp.arctan2,
        "erf": jax.scipy.special.erf, "rsqrt": lax.rsqrt, "atanh": jnp.arctanh,
        "asinh": jnp.arcsinh, "layer_norm": normed, "reduce_max": lambda x: x.max(1, keepdims=True),
        "rms_norm": lambda x, scale: x * lax.rsqrt(jnp.mean(x**2, axis=-1, keepdims=True) + 1e-5) * scale,
        "reduce_log_sum_exp": lambda x: jax.scipy.special.logsumexp(x, axis=1, keepdims=True),
        "reduce_prod": lambda x: x.prod(1, keepdims=True), "reduce_l2": lambda x: jnp.sqrt((x**2).sum(1, keepdims=True)),
        "cumsum": lambda x: jnp.cumsum(x, axis=1), "cumprod": lambda x: jnp.cumprod(x, axis=1), "linear_recurrence": recurrence,
        "numpy_matmul": jnp.matmul, "gather": lambda x: x[jnp.array(INDICES)], "sort": lambda x: jnp.sort(x, axis=1),
        "pad": lambda x: jnp.pad(x, ((1, 2), (2, 1)), mode="reflect"), "attention": attention,
        "conv": lambda x, w, b: lax.conv_general_dilated(x, w, (2, 1), [(1, 1), (0, 2)], rhs_dilation=(1, 2),
                                                         feature_group_count=2) + b[:, None, None],
        "max_pool": lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 3, 2), (1, 1, 2, 1), "VALID"),
    }
    return (functions.get(name) or getattr(jax.nn, name, None) or getattr(jnp, name))(*inputs)


def derivatives(name, given, function, value_and_grad, jvp, loss_of):
    """{what: array} of one side."""
    inputs, along = ([given[f"{name}:{what}{i}"] for i in range(len(CASES[name]))] for what in ("x", "t"))
    loss = lambda *inputs: loss_of(function(*inputs), given[f"{name}:w"])
    places = tuple(range(len(inputs)))
    value, slopes = value_and_grad(loss, places)(*inputs)
    _, changes = jvp(function, tuple(inputs), tuple(along))
    _, bends = jvp(lambda *inputs: value_and_grad(loss, places)(*inputs)[1], tuple(inputs), tuple(along))
    found = {"value": value, "tangent": changes}
    found |= {f"adjoint{i}": slope for i, slope in enumerate(slopes)} | {f"hessian{i}": bend for i, bend in enumerate(bends)}
    return {f"{name}:{what}": np.asarray(array) for what, array in found.items()}


def side(engine, names, given):
    found = {}
    if engine == "jax":
        import jax
        jax.config.update("jax_enable_x64", True)
        weighted = lambda y, w: (y * w.reshape(-1)[:y.size].reshape(y.shape)).sum()
        for name in names:
            found |= derivatives(name, given, lambda *x, name=name: theirs(name, x), jax.value_and_grad, jax.jvp, weighted)
        return found
    if engine == "torch":
        import derivatives_torch as peer
        given = peer.tensors(given)
        for name in names:
            found |= derivatives(name, given, peer.function(name), peer.value_and_grad, peer.jvp, peer.weighted)
        return found
    import heddle
    ops = heddle.load_library()

    def weighted(y, w):
        return ops.call("reduce_sum", y * w.reshape(-1)[:int(np.prod(y.shape))].reshape(y.shape), keepdims=False)

    def first(name, inputs):
        results = ours(ops, name, inputs)
        return results[0] if isinstance(results, tuple) else results
    for name in names:
        found |= derivatives(name, given, lambda *x, name=name: first(name, x), heddle.value_and_grad, heddle.jvp, weighted)
    return found


def made():
    random, given = np.random.default_rng(5), {}
    for name in CASES:
        for i, (shape, (low, high)) in enumerate(CASES[name]):
            count = int(np.prod(shape))
            given[f"{name}:x{i}"] = (low + (high - low) * (random.permutation(count) + 0.37 + 0.2 * i) / count).reshape(shape)
            given[f"{name}:t{i}"] = random.standard_normal(shape)
        given[f"{name}:w"] = random.standard_normal(1000)
    return given


def differences(names, found, expected):
    """{name: {what: the largest difference, as a share of the largest element}}."""
    rows = {}
    for name in names:
        row = rows[name] = {"value": 0.0, "adjoint": 0.0, "tangent": 0.0, "hessian": 0.0}
        for key in (key for key in expected if key.startswith(name + ":")):
            what = key.split(":")[1].rstrip("0123456789")
            scale = max(np.abs(expected[key]).max(), 1e-3)
            row[what] = max(row[what], float(np.abs(found[key].reshape(expected[key].shape) - expected[key]).max() / scale))
    return rows


def results_of(peer, names, given):
    """Computed now, in the peer's own interpreter."""
    import peer_environment
    is_here = peer == "torch" and importlib.util.find_spec("torch")
    python = sys.executable if is_here else peer_environment.python_with(peer)
    with tempfile.TemporaryDirectory() as folder:
        paths = [f"{folder}/in.npz", f"{folder}/out.npz"]
        np.savez(paths[0], **given)
        subprocess.run([python, __file__, *names, "--peer", peer, "--side", *paths], check=True)
        return dict(np.load(paths[1]))


def main():
    parser = reports.parser(__doc__, "a part of an operator's name")
    parser.add_argument("--peer", choices=("jax", "torch"), default="jax")
    parser.add_argument("--record", metavar="FILE.npz")
    parser.add_argument("--side", nargs=2, metavar=("IN", "OUT"), help=argparse.SUPPRESS)  # the peer's, in its own interpreter
    options = parser.parse_args()
    names = reports.chosen(parser, options.names, list(CASES), fits=reports.part_of)
    if options.side:
        np.savez(options.side[1], **side(options.peer, names, dict(np.load(options.side[0]))))
        return 0
    given = made()
    if options.quick:
        names = ["softmax"]
        expected = {key: array for key, array in recorded(options.peer).items() if key.split(":")[0] in names}
    else:
        import peer_environment
        try:
            expected = results_of(options.peer, names, given)
        except peer_environment.Unavailable as problem:
            print(f"SKIP {options.peer}: {problem}")
            return 0
    if options.record:
        np.savez_compressed(options.record, **expected)
    rows = differences(names, side("heddle", names, given), expected)
    for name, row in rows.items():
        print(f"{name:20}" + "".join(f"  {what} {difference:7.1e}" for what, difference in row.items()), flush=True)
    worst = max(max(row.values()) for row in rows.values())
    print(f"{len(rows)} operators; the largest difference is {worst:.1e}, the limit {LIMIT:.0e}")
    reports.write(options, "derivatives.json", {"limit": LIMIT, "worst": worst, "operators": rows})
    return int(not worst <= LIMIT)


if __name__ == "__main__":
    sys.exit(main())
