"""Gradients through ONNX models, with respect to inputs and weights: beside differences in double."""
import numpy as np

from onnx import TensorProto, helper, numpy_helper

import heddle
import inputs
from support import model_of, model_path, refused

ops = heddle.load_library()
REAL = TensorProto.DOUBLE
RANDOM = np.random.default_rng(5)

def weights_of(**arrays):
    return [numpy_helper.from_array(np.asarray(array, np.float64), name) for name, array in arrays.items()]

def check(model, wanted, *given):
    """The gradient of the sum of all outputs' squares with respect to weights of these names, and to the float inputs."""
    session = heddle.InferenceSession(model)
    names = [port.name for port in session.get_inputs()]
    known = {name: array for name, array in zip(names, given) if array.dtype != np.float64}  # of the closure: constants
    moving = {name: array for name, array in zip(names, given) if array.dtype == np.float64}
    weights = {name: session.weights[name] for name in wanted}

    def loss(weights, moving):
        results = session.call(**known, **moving, weights=weights)
        results = results if isinstance(results, tuple) else (results,)
        sums = [ops.call("reduce_sum", result * result) for result in results]
        return sum(sums[1:], sums[0])
    value = heddle.function(loss)
    _, slopes = heddle.value_and_grad(loss, (0, 1))(weights, moving)
    arguments = (weights, moving)
    for slope, argument in zip(slopes, arguments):
        for name, array in argument.items():
            direction, losses = RANDOM.normal(size=array.shape), []
            for by in (1e-5, -1e-5):
                moved = tuple({**each, name: array + by * direction} if each is argument else each for each in arguments)
                losses.append(value(*moved).item())
            difference = (losses[0] - losses[1]) / 2e-5
            np.testing.assert_allclose((slope[name] * direction).sum(), difference, rtol=1e-6, atol=1e-8, err_msg=name)

def test_layers_that_share_a_weight():
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Tanh", ["a"], ["b"]),
             helper.make_node("MatMul", ["b", "w"], ["c"]), helper.make_node("Add", ["c", "bias"], ["y"])]
    model = model_of(nodes, [("x", REAL, ["batch", 3])], [("y", REAL, ["batch", 3])],
                     weights_of(w=RANDOM.normal(size=(3, 3)), bias=RANDOM.normal(size=3)))
    check(model, ["w", "bias"], RANDOM.normal(size=(4, 3)))
    check(model, [], RANDOM.normal(size=(2, 3)))

def branching():
    """y = x * w where k > 0, else tanh(x * v): weights of the branches, one of them what a node holds."""
    held = helper.make_node("Constant", [], ["v"], value=numpy_helper.from_array(np.float64([.5, 2]), "v"))
    multiplied = helper.make_graph([helper.make_node("Mul", ["x", "w"], ["p"])], "then", [],
                                   [helper.make_tensor_value_info("p", REAL, [2])], weights_of(w=[3., -1.]))
    bent = helper.make_graph([held, helper.make_node("Mul", ["x", "v"], ["q"]), helper.make_node("Tanh", ["q"], ["r"])], "else", [],
                             [helper.make_tensor_value_info("r", REAL, [2])])
    nodes = [helper.make_node("Greater", ["k", "zero"], ["positive"]),
             helper.make_node("If", ["positive"], ["y"], then_branch=multiplied, else_branch=bent)]
    return model_of(nodes, [("x", REAL, [2]), ("k", TensorProto.INT64, [])], [("y", REAL, [2])],
                    [numpy_helper.from_array(np.int64(0), "zero")])

def test_weights_of_branches():
    assert set(heddle.InferenceSession(branching()).weights) == {"w", "v"}
    check(branching(), ["w"], np.float64([1, 2]), np.array(1))
    check(branching(), ["v"], np.float64([1, 2]), np.array(-1))
    session, x = heddle.InferenceSession(branching()), np.float64([1, 2])
    weights = {"w": np.float64([7, 8]), "v": np.float64([0, 1])}  # of which each value of k has a use for one
    np.testing.assert_allclose(session.call(x, np.array(1), weights=weights), [7, 16])
    np.testing.assert_allclose(session.call(x, np.array(-1), weights=weights), np.tanh([0, 2]))
    np.testing.assert_allclose(session.call(x, np.array(2), weights={"w": weights["w"]}), [7, 16])

def test_recurrent_layers():
    shapes = {"W": (1, 8, 3), "R": (1, 8, 2), "B": (1, 16)}
    node = helper.make_node("LSTM", ["x", "W", "R", "B"], ["y", "", "c"], hidden_size=2)
    model = model_of([node], [("x", REAL, [4, 2, 3])], [("y", REAL, None), ("c", REAL, None)],
                     weights_of(**{name: RANDOM.normal(size=shape) for name, shape in shapes.items()}))
    check(model, list(shapes), RANDOM.normal(size=(4, 2, 3)))

def test_convolution_normalisation_and_pooling():
    nodes = [helper.make_node("Conv", ["x", "f"], ["a"], pads=[1, 1, 1, 1]),
             helper.make_node("BatchNormalization", ["a", "scale", "shift", "mean", "variance"], ["b"]),
             helper.make_node("HardSwish", ["b"], ["c"]), helper.make_node("AveragePool", ["c"], ["d"], kernel_shape=[2, 2]),
             helper.make_node("Softmax", ["d"], ["y"])]
    model = model_of(nodes, [("x", REAL, [2, 3, 5, 5])], [("y", REAL, None)],
                     weights_of(f=RANDOM.normal(size=(4, 3, 3, 3)), scale=RANDOM.normal(size=4), shift=RANDOM.normal(size=4),
                                mean=RANDOM.normal(size=4), variance=np.ones(4)))
    check(model, ["f", "scale", "shift", "mean", "variance"], RANDOM.normal(size=(2, 3, 5, 5)))

def test_weights_in_place_of_the_models():
    nodes = [helper.make_node("Gemm", ["x", "w", "b"], ["y"])]
    w, b = RANDOM.normal(size=(3, 2)), RANDOM.normal(size=2)
    session = heddle.InferenceSession(model_of(nodes, [("x", REAL, ["batch", 3])], [("y", REAL, ["batch", 2])], weights_of(w=w, b=b)))
    x = RANDOM.normal(size=(4, 3))
    np.testing.assert_array_equal(session.weights["w"], w)
    np.testing.assert_allclose(session.call(x), x @ w + b)
    np.testing.assert_allclose(session.call(x=x, weights={"w": 2 * w}), 2 * x @ w + b)
    np.testing.assert_allclose(session.call(x, weights={"w": w, "b": 0 * b}), x @ w)
    graph = heddle.Graph()
    y = graph.call(session, graph.tensor("x", "float64", [1, 3]), weights={"b": np.zeros(2)})  # an array is a constant
    np.testing.assert_allclose(graph.compile([y]).run(None, {"x": x[:1]})[0], x[:1] @ w)
    with refused("python.argument"):
        session.call(x, weights={"u": w})
    for wrong in (lambda: session.call(x, x), lambda: session.call(x, x=x), lambda: session.call(x, x=x, weights={"w": w})):
        with refused("python.option"):
            wrong()
    with refused("inference.missing_input"):
        session.call(weights={"w": w})
    with refused("python.tensor"):
        session.call(x, weights={"w": w.T.copy()})
    with refused("python.tensor"):
        session.call(x, weights={"w": w.astype(np.float32)})

def test_a_real_model():
    session = heddle.InferenceSession(model_path("minilm"))
    feeds = inputs.tokens(2, 16)
    names = ["encoder.layer.5.output.dense.bias", "encoder.layer.0.attention.self.query.weight"]
    weights = {name: session.weights[name] for name in names}

    def loss(weights):
        y = session.call(**feeds, weights=weights)
        return ops.call("reduce_mean", y * y)
    value, slopes = heddle.value_and_grad(loss)(weights)
    assert abs(value.item() - np.mean(session.call(**feeds)**2)) < 1e-6
    for name in names:  # downhill
        less = heddle.function(loss)({**weights, name: weights[name] - .1 * slopes[name]}).item()
        expected = value.item() - .1 * np.sum(slopes[name]**2)
        assert abs(less - expected) < .2 * abs(value.item() - expected), (name, value, less, expected)
