"""What a case of a staged model is: a model in ONNX's text form, and feeds that run one after the other in one session."""
import dataclasses
from typing import Callable

import numpy as np
import onnx

HEAD = '<ir_version: 9, opset_import: ["" : {opset}{own}]>\n'


@dataclasses.dataclass
class Case:
    title: str
    text: str  # the graph, then functions of the domain "own", if there are any
    feeds: list
    opset: int = 18
    weights: dict = dataclasses.field(default_factory=dict)  # initializers that the text has no place for
    tolerance: float = 1e-5
    plans: int | None = None  # at most so many are made for all feeds together
    truth: Callable | None = None  # the results for the feeds, where ONNX Runtime refuses what the standard allows, or is wrong

    def model(self):
        own = ', "own" : 1' if "own." in self.text else ""
        model = onnx.parser.parse_model(HEAD.format(opset=self.opset, own=own) + self.text)
        model.graph.initializer.extend(onnx.numpy_helper.from_array(np.asarray(value), name)
                                       for name, value in self.weights.items())
        return model.SerializeToString()


@dataclasses.dataclass
class Mistake(Case):
    codes: tuple = ()  # one of them is the error's first
    says: str = ""  # a part of its text


def real(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def whole(*values, dtype=np.int64):
    """A vector of integers; `number` is one integer of rank 0."""
    return np.array(values, dtype)


def number(value, dtype=np.int64):
    return np.array(value, dtype)
