"""Trains a convolutional network to tell drawn shapes: circles, squares, triangles, crosses, rings and stars.

    python examples/train_shapes.py [--steps 1200] [--svg CURVE.svg]

The network and the optimiser are calls of operators; the gradients follow from the operators' texts. It ends with an error if the
network does not know nearly all shapes that it has never seen.
"""
import argparse
import sys
import time

import numpy as np

import heddle
from training_loop import curve_svg, normal, ops, train

SIZE, BATCH = 24, 64
NAMES = ["circle", "square", "triangle", "cross", "ring", "star"]


def draw(random, kind):
    """A shape somewhere, of some size, turned, on a noisy ground."""
    at, radius, turn = random.uniform(9, SIZE - 9, 2), random.uniform(5, 8), random.uniform(0, 2 * np.pi)
    y, x = np.mgrid[:SIZE, :SIZE] - at[:, None, None]
    x, y = np.cos(turn) * x + np.sin(turn) * y, np.cos(turn) * y - np.sin(turn) * x
    distance, angle = np.hypot(x, y), np.arctan2(y, x)
    inside = {"circle": distance < radius,
              "square": np.maximum(abs(x), abs(y)) < .75 * radius,
              "triangle": distance * np.cos((angle % (2 * np.pi / 3)) - np.pi / 3) < .55 * radius,
              "cross": (np.minimum(abs(x), abs(y)) < .25 * radius) & (distance < radius),
              "ring": (distance < radius) & (distance > .6 * radius),
              "star": distance < radius * (.6 + .4 * np.cos(5 * angle))}[NAMES[kind]]
    return random.uniform(.5, 1) * inside + random.normal(0, .15, inside.shape)


def pictures(random, count):
    kinds = random.integers(0, len(NAMES), count)
    return np.stack([draw(random, kind) for kind in kinds]).astype(np.float32)[:, None], kinds


def network(weights, images):
    """The logarithms of probabilities, [batch, kinds]."""
    x = images
    for layer in ("1", "2"):
        x = ops.call("relu", ops.call("conv", x, weights["filter" + layer], weights["bias" + layer], pads=[1, 1, 1, 1]))
        x, _ = ops.call("max_pool", x, kernel=[2, 2], strides=[2, 2])
    features = ops.call("reshape_to", x, shape=[x.shape[0], x.shape[1] * x.shape[2] * x.shape[3]])
    return ops.call("log_softmax", features @ weights["out"] + weights["bias_out"])


def loss(weights, images, kinds):
    return ops.call("nll_loss_joined", network(weights, images), kinds, mean=True)


def first_weights(random):
    side = SIZE // 4
    return {"filter1": normal(random, 12, 1, 3, 3, fan_in=9), "bias1": np.zeros(12, np.float32),
            "filter2": normal(random, 24, 12, 3, 3, fan_in=108), "bias2": np.zeros(24, np.float32),
            "out": normal(random, 24 * side * side, len(NAMES), fan_in=24 * side * side),
            "bias_out": np.zeros(len(NAMES), np.float32)}


def trained(steps, count=12000, tell=print, machines=None):
    """Weights after so many steps, and the losses, on so many pictures."""
    random = np.random.default_rng(7)
    weights = first_weights(random)
    images, kinds = pictures(random, count)
    order = [random.integers(0, count, BATCH) for _ in range(steps)]
    return train(loss, weights, [(images[some], kinds[some]) for some in order], lambda part: .006 * (1 - part), tell, machines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--svg", help="where to write the curve of the loss")
    options = parser.parse_args()
    begin = time.perf_counter()
    machines = heddle.machines()  # of mpirun or srun; else this process alone
    weights, losses = trained(options.steps, tell=print if machines.rank == 0 else lambda text: None, machines=machines)
    if machines.rank > 0:
        return
    print(f"drew and trained in {time.perf_counter() - begin:.1f} s")
    images, kinds = pictures(np.random.default_rng(8), 1000)
    right = np.mean(np.argmax(heddle.function(network)(weights, images), axis=1) == kinds)
    print(f"{right:.1%} of {len(kinds)} shapes that it has not seen are told")
    if options.svg:
        with open(options.svg, "w") as file:
            file.write(curve_svg("Cross entropy of drawn shapes, by steps", losses))
        print(f"wrote {options.svg}")
    if right < .9:
        sys.exit("too few: the training went wrong")


if __name__ == "__main__":
    main()
