"""What bench/training.py measures: weights and a batch for each case, the same for all sides."""
import numpy as np

import train_characters
import train_shapes
from training_loop import normal

NETWORKS = ["mlp", "resnet_block", "transformer_layer"]
KERNELS = ["softmax", "layer_norm", "matmul", "conv2d", "max_pool", "gelu", "log_sum_exp", "cumsum", "gather", "scatter_add"]
TRAINED = ["characters", "shapes"]  # the networks of the examples
WIDTH = 256  # of the transformer's layer


def made(case):
    """({name: weight}, [array of the batch])."""
    random = np.random.default_rng(11)
    return CASES[case](random)


def _values(random, *shape):
    return random.standard_normal(shape).astype(np.float32)


def _mlp(random):
    sizes, weights = [784, 512, 512, 10], {}
    for at, (rows, columns) in enumerate(zip(sizes, sizes[1:])):
        weights |= {f"{at}.weight": normal(random, rows, columns, fan_in=rows), f"{at}.bias": np.zeros(columns, np.float32)}
    return weights, [_values(random, 128, 784), random.integers(0, 10, 128)]


def _resnet_block(random):
    weights = {}
    for at in range(2):
        weights |= {f"{at}.filter": normal(random, 64, 64, 3, 3, fan_in=64 * 9), f"{at}.scale": np.ones(64, np.float32),
                    f"{at}.shift": np.zeros(64, np.float32)}
    return weights, [_values(random, 8, 64, 56, 56), _values(random, 8, 64, 56, 56)]


def _transformer_layer(random):
    return train_characters.layer_weights(random, WIDTH, 0), [_values(random, 4, 128, WIDTH), _values(random, 4, 128, WIDTH)]


def _characters(random):
    text = train_characters.sentences(random)[0]
    batch = text[:train_characters.BATCH]
    return train_characters.first_weights(random, text.shape[1] - 1), [batch[:, :-1], batch[:, 1:]]


def _shapes(random):
    return train_shapes.first_weights(random), list(train_shapes.pictures(random, train_shapes.BATCH))


def batches(case, random, count):
    """Of a network of the examples, to be trained."""
    if case == "characters":
        text = train_characters.sentences(random)[0]
        chosen = [text[random.integers(0, len(text), train_characters.BATCH)] for _ in range(count)]
        return [[some[:, :-1], some[:, 1:]] for some in chosen]
    images, kinds = train_shapes.pictures(random, 2000)
    order = [random.integers(0, len(images), train_shapes.BATCH) for _ in range(count)]
    return [[images[some], kinds[some]] for some in order]


def _kernel(adjoint, *others, **inputs):
    """Of an operator: the gradient of the sum of its results times `adjoint` with respect to the inputs."""
    return lambda random: ({name: _values(random, *shape) for name, shape in inputs.items()},
                           [_values(random, *adjoint), *(random.integers(0, rows, count) for rows, count in others)])


CASES = {
    "mlp": _mlp, "resnet_block": _resnet_block, "transformer_layer": _transformer_layer, "characters": _characters, "shapes": _shapes,
    "softmax": _kernel((512, 1024), x=(512, 1024)),
    "layer_norm": _kernel((512, 1024), x=(512, 1024), scale=(1024,), shift=(1024,)),
    "matmul": _kernel((512, 512), a=(512, 512), b=(512, 512)),
    "conv2d": _kernel((8, 64, 28, 28), x=(8, 32, 28, 28), filter=(64, 32, 3, 3)),
    "max_pool": _kernel((8, 64, 28, 28), x=(8, 64, 56, 56)),
    "gelu": _kernel((512, 1024), x=(512, 1024)),
    "log_sum_exp": _kernel((512,), x=(512, 1024)),
    "cumsum": _kernel((512, 1024), x=(512, 1024)),
    "gather": _kernel((2048, 64), (10000, 2048), table=(10000, 64)),
    "scatter_add": _kernel((10000, 64), (10000, 2048), x=(10000, 64), updates=(2048, 64)),
}
