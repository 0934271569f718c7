"""Steps of training: the shipped optimisers beside NumPy, over several steps."""
import numpy as np

import heddle

ops = heddle.load_library()
STEPS, RATE = 6, 0.05


def slopes(dtype):
    """Of several steps, and weights to begin with."""
    random = np.random.default_rng(3)
    return random.normal(size=(3, 4)).astype(dtype), random.normal(size=(STEPS, 3, 4)).astype(dtype)


def expect_same(optimiser, states, reference, **parameters):
    """After each step; `reference` takes and gives (weight, states), in double."""
    for dtype, tolerance in (("float64", 1e-13), ("float32", 3e-6)):
        weight, steps = slopes(dtype)
        step = heddle.function(lambda *arrays: optimiser(*arrays, **parameters))
        ours = (weight, *[np.zeros_like(weight) for _ in range(states)])
        wanted = tuple(array.astype("float64") for array in ours)
        for number, slope in enumerate(steps, 1):
            ours = step(ours[0], slope, *ours[1:], np.asarray(number, dtype), np.asarray(RATE, dtype))
            wanted = reference(number, slope.astype("float64"), *wanted, **parameters)
            for found, expected in zip(ours, wanted, strict=True):
                assert found.dtype == dtype
                np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def test_gradient_descent():
    def sgd(weight, slope, number, rate, **parameters):
        return (ops.call("sgd", weight, slope, rate, **parameters),)

    def reference(number, slope, weight, decay=0.0):
        return (weight - RATE * (slope + decay * weight),)
    expect_same(sgd, 0, reference)
    expect_same(sgd, 0, reference, decay=0.1)


def test_momentum():
    def momentum(weight, slope, velocity, number, rate, **parameters):
        return ops.call("momentum", weight, slope, velocity, rate, **parameters)

    def reference(number, slope, weight, velocity, momentum=0.9, decay=0.0, nesterov=False):
        slope = slope + decay * weight
        velocity = momentum * velocity + slope
        return weight - RATE * (slope + momentum * velocity if nesterov else velocity), velocity
    expect_same(momentum, 1, reference)
    expect_same(momentum, 1, reference, momentum=0.7, decay=0.1)
    expect_same(momentum, 1, reference, decay=0.1, nesterov=True)


def test_adamw():
    def adamw(weight, slope, mean, square, number, rate, **parameters):
        return ops.call("adamw", weight, slope, mean, square, number, rate, **parameters)

    def reference(number, slope, weight, mean, square, beta1=0.9, beta2=0.999, epsilon=1e-8, decay=0.01):
        mean = beta1 * mean + (1 - beta1) * slope
        square = beta2 * square + (1 - beta2) * slope**2
        unbiased, root = mean / (1 - beta1**number), np.sqrt(square / (1 - beta2**number))
        return weight - RATE * (unbiased / (root + epsilon) + decay * weight), mean, square
    expect_same(adamw, 2, reference)
    expect_same(adamw, 2, reference, beta1=0.8, beta2=0.95, epsilon=1e-3, decay=0.0)
