"""Arrays that results are written to: the result is the very array; what cannot be overwritten is refused."""
import numpy as np

import heddle
from support import refused

ops = heddle.load_library()


def step(weights, means, squares, number, rate, x):
    def loss(weights, x):
        error = ops.call("tanh", x @ weights["in"]) @ weights["out"]
        return ops.call("reduce_mean", error * error)
    value, slopes = heddle.value_and_grad(loss)(weights, x)
    new = {name: ops.call("adamw", weights[name], slopes[name], means[name], squares[name], number, rate) for name in weights}
    return *({name: results[i] for name, results in new.items()} for i in range(3)), value


def arguments():
    random = np.random.default_rng(5)
    weights = {"in": random.standard_normal((33, 47), np.float32), "out": random.standard_normal((47, 33), np.float32)}
    return weights, *({name: np.zeros_like(weight) for name, weight in weights.items()} for _ in range(2)), \
        random.standard_normal((20, 33), np.float32)


def test_steps_of_training_write_over_what_they_replace():
    for threads in (1, 2):
        plain = heddle.function(step, threads=threads)
        in_place = heddle.function(step, threads=threads, donate=["weights", "means", "squares"])
        *theirs, x = arguments()
        *ours, _ = arguments()
        given = [array for tree in ours for array in tree.values()]
        for number in range(1, 6):
            *theirs, expected = plain(*theirs, np.float32(number), np.float32(.01), x)
            *ours, found = in_place(*ours, np.float32(number), np.float32(.01), x)
            assert found == expected
            for a, b in zip(ours, theirs, strict=True):
                for name in b:
                    np.testing.assert_array_equal(a[name], b[name])
        assert all(a is b for a, b in zip(given, [array for tree in ours for array in tree.values()], strict=True))


def test_decorated():
    @heddle.function(donate=["x"])
    def doubled(x, y):
        return x + x + y
    x = np.arange(5.0)
    assert doubled(x, np.ones(5)) is x
    np.testing.assert_array_equal(x, 2 * np.arange(5.0) + 1)
    # Within another function, that one says what is donated.
    y = np.arange(5.0)
    outer = heddle.function(lambda x: doubled(x, x))
    assert outer(y) is not y and y[1] == 1


def test_of_graphs():
    graph = heddle.Graph()
    a, b = graph.tensor("a", "float32", [6]), graph.tensor("b", "float32", [6])
    total = graph.call("add", [a, b])
    for donate in (["a"], [a], ("b",)):
        session = graph.compile([total], donate=donate)
        feeds = {"a": np.ones(6, np.float32), "b": np.full(6, 2, np.float32)}
        (found,) = session.run(None, feeds)
        assert found is feeds["b" if donate == ("b",) else "a"] and (found == 3).all()
        assert session.compare({"a": np.ones(6, np.float32), "b": np.ones(6, np.float32)})


def test_results_are_chosen_by_what_makes_them():
    swapped = heddle.function(lambda a, b: (b + 1.0, a + 2.0), donate=["a", "b"])
    a, b = np.zeros(4), np.ones(4)
    first, second = swapped(a, b)
    assert first is b and second is a and (b == 2).all() and (a == 2).all()
    handed_on = heddle.function(lambda a, b: (b, a), donate=["a", "b"])
    assert [x is y for x, y in zip(handed_on(a, b), (b, a))] == [True, True]


def test_refusals():
    session = heddle.function(lambda x, y: x + y, donate=["x"])
    y = np.ones(8, np.float32)
    read_only = np.ones(8, np.float32)
    read_only.flags.writeable = False
    unaligned = np.zeros(33, np.uint8)[1:].view(np.float32)
    for x in (read_only, np.ones(16, np.float32)[::2], unaligned):
        with refused("python.donation"):
            session(x, y)
    with refused("python.donation"):
        heddle.function(lambda x: x + 1.0, donate=["x"])(np.float32(1))  # a number, not an array
    x = np.ones(16, np.float32)
    with refused("runtime.donation"):
        session(x[:8], x[:8])
    with refused("runtime.donation"):
        session(x[:8], x[4:12])
    session(x[:8], x[8:])
    both = heddle.function(lambda x, y: (x + y, x - y), donate=["x", "y"])
    with refused("runtime.donation"):
        both(y, y)
    assert (y == 1).all(), "what is refused is not overwritten"

    graph = heddle.Graph()
    a, b = graph.tensor("weight", "float32", [4]), graph.tensor("other", "float32", [4, 1])
    total = graph.call("add", [a, b])
    with refused("python.donation") as caught:
        graph.compile([total], donate=["wieght"])
    assert "did you mean 'weight'" in str(caught.error)
    with refused("python.donation"):
        graph.compile([total], donate=["weight", a])
    with refused("plan.donation"):
        graph.compile([total], donate=["weight"])
    graph = heddle.Graph()
    a = graph.tensor("weight", "float32", [4])
    with refused("runtime.input_dtype"):
        graph.compile([graph.call("add", [a, a])], donate=["weight"]).run(None, {"weight": np.ones(4)})
    with refused("python.option"):
        heddle.function(lambda x: x + x, donate=["y"])
    with refused("plan.donation"):
        heddle.function(lambda x: ops.call("reduce_sum", x), donate=["x"])(np.ones(3))
