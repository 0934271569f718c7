"""Recurrent layers: directions, layouts, lengths, states, peepholes, activations with their parameters."""
import numpy as np

import case as cases
from case import Case

GATES, COUNTS = {"RNN": 1, "GRU": 3, "LSTM": 4}, {"RNN": 1, "GRU": 2, "LSTM": 3}
ACTIVATIONS = ("Relu", "Tanh", "Sigmoid", "Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu", "Softsign", "Softplus")
WITH_ALPHA = ("Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu")
WITH_BETA = ("Affine", "ScaledTanh", "HardSigmoid")


def recurrent(random):
    operator = str(random.choice(list(GATES)))
    direction = str(random.choice(["forward", "reverse", "bidirectional"]))
    dirs, gates = 1 + (direction == "bidirectional"), GATES[operator]
    steps, batch, features, hidden = (int(n) for n in random.integers(1, 6, 4))
    first = random.random() < 0.4

    def normal(*shape):
        return (random.standard_normal(shape) * 0.7).astype(np.float32)

    def state():
        return normal(batch, dirs, hidden) if first else normal(dirs, batch, hidden)

    inputs = {"X": normal(batch, steps, features) if first else normal(steps, batch, features),
              "W": normal(dirs, gates * hidden, features), "R": normal(dirs, gates * hidden, hidden),
              "B": normal(dirs, 2 * gates * hidden) if random.random() < 0.7 else None,
              "lengths": random.integers(1, steps + 1, batch).astype(np.int32) if random.random() < 0.4 else None,
              "h": state() if random.random() < 0.5 else None}
    attributes = {"direction": direction, "hidden_size": hidden}
    if operator == "LSTM":
        inputs["c"] = state() if random.random() < 0.5 else None
        inputs["P"] = normal(dirs, 3 * hidden) if random.random() < 0.3 else None
        attributes["input_forget"] = int(random.random() < 0.2)
    if operator == "GRU":
        attributes["linear_before_reset"] = int(random.integers(2))
    if first:
        attributes["layout"] = 1
    if random.random() < 0.3:
        attributes["clip"] = float(random.random() + 0.3)
    if random.random() < 0.5:
        names = [str(random.choice(ACTIVATIONS)) for _ in range(COUNTS[operator] * dirs)]
        attributes["activations"] = names
        for key, having in (("activation_alpha", WITH_ALPHA), ("activation_beta", WITH_BETA)):
            count = sum(name in having for name in names)
            if count and random.random() < 0.7:
                attributes[key] = [float(value) for value in random.random(count) + 0.2]
    results = ["Y", "Y_h"] + ["Y_c"] * (operator == "LSTM")
    case = Case(operator, 14, inputs, attributes, [name if random.random() < 0.8 or name == "Y_h" else "" for name in results], tolerance=2e-5)
    if first:
        case.truth = batch_first(case)
    return case


def batch_first(case):
    """What ONNX Runtime, which wants steps first, makes of the same layer with its axes in that order."""
    turned = {name: value.swapaxes(0, 1) if name in ("X", "h", "c") and value is not None else value
              for name, value in case.inputs.items()}
    attributes = {name: value for name, value in case.attributes.items() if name != "layout"}
    other = Case(case.operator, case.opset, turned, attributes, case.outputs)
    results = cases.runtime(other.model(), other)
    return results and [value.transpose(2, 0, 1, 3) if value.ndim == 4 else value.swapaxes(0, 1) for value in results]


def without_parameters(case):
    """Whether an activation lacks parameters whose usual ones ONNX Runtime has otherwise."""
    names = case.attributes.get("activations", ())
    alpha, beta = (key in case.attributes for key in ("activation_alpha", "activation_beta"))
    return "ThresholdedRelu" in names and not alpha or bool({"Affine", "ScaledTanh"} & set(names)) and not (alpha and beta)


FORMS = {"recurrent": recurrent}
DIFFERENCES = [
    ("recurrent", "reference", lambda case: True,
     "knows no directions but forward, no lengths, activations, clipping or batches first with more than one step"),
] + [("recurrent", peer, without_parameters, "ThresholdedRelu has 0 there, the operator 1; Affine and ScaledTanh have other ones, of which the standard says nothing")
     for peer in ("ONNX Runtime", "own")]
