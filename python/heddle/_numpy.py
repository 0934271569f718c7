"""NumPy's functions of tensors: which operators of the library they are."""
from __future__ import annotations

from typing import Any, Callable

import numpy as np

from . import _heddle
from ._library import is_array
from ._tensor import Axes, Tensor, axes_of, taken

# Universal functions of one and of two arguments, by NumPy's names.
UNARY = {"negative": "neg", "absolute": "abs", "fabs": "abs", "sign": "sign", "floor": "floor", "ceil": "ceil", "rint": "round",
         "trunc": "trunc", "square": "square", "sqrt": "sqrt", "reciprocal": "recip", "exp": "exp", "exp2": "exp2",
         "expm1": "expm1", "log": "log", "log2": "log2", "log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan",
         "arcsin": "asin", "arccos": "acos", "arctan": "atan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh",
         "arccosh": "acosh", "arctanh": "atanh", "conjugate": "conj", "isnan": "is_nan", "isinf": "is_inf", "logical_not": "not",
         "positive": "identity"}
BINARY = {"add": "add", "subtract": "sub", "multiply": "mul", "floor_divide": "floor_div", "remainder": "mod",
          "fmod": "trunc_rem", "power": "power", "float_power": "power", "maximum": "maximum", "minimum": "minimum",
          "arctan2": "atan2", "matmul": "numpy_matmul", "equal": "equal", "not_equal": "not_equal", "less": "less",
          "less_equal": "less_equal", "greater": "greater", "greater_equal": "greater_equal", "logical_and": "and",
          "logical_or": "or", "logical_xor": "xor", "left_shift": "shift_left", "right_shift": "shift_right"}
# What depends on the tensor's type, by Python's names.
OPERATORS = {"bitwise_and": "__and__", "bitwise_or": "__or__", "bitwise_xor": "__xor__", "invert": "__invert__", "divide": "__truediv__"}
# Functions that are methods of tensors, of the same arguments.
METHODS = ["sum", "mean", "prod", "max", "min", "amax", "amin", "any", "all", "argmax", "argmin", "cumsum", "reshape", "transpose",
           "swapaxes", "squeeze", "ravel", "clip", "dot"]
ALIASES = {"amax": "max", "amin": "min"}


def apply_ufunc(tensor: Tensor, ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    name = ufunc.__name__
    known = name in UNARY or name in BINARY or name in OPERATORS
    if method != "__call__" or options or not known:
        _absent(name if method == "__call__" else f"{name}.{method}", tensor, options)
    if not all(isinstance(each, (Tensor, bool, int, float)) or is_array(each) for each in inputs):
        return NotImplemented
    operands = [tensor.beside(each) for each in inputs]
    if name in OPERATORS:
        first = operands[0] if isinstance(operands[0], Tensor) else tensor.graph.constant("constant", operands[0])
        return getattr(first, OPERATORS[name])(*operands[1:])
    return tensor.graph.call(UNARY.get(name) or BINARY[name], *operands)


def apply_function(tensor: Tensor, function: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    name = function.__name__
    options = {key: value for key, value in options.items() if value is not np._NoValue}
    if name in METHODS and isinstance(arguments[0], Tensor):
        return getattr(arguments[0], ALIASES.get(name, name))(*arguments[1:], **options)
    if name not in FUNCTIONS:
        _absent(name, tensor, options)
    return FUNCTIONS[name](tensor, *arguments, **options)


def _absent(name: str, tensor: Tensor, options: dict[str, Any]) -> None:
    given = f" with {', '.join(options)}" if options else ""
    _heddle.raise_traced(f"an argument of numpy.{name}{given}", repr(tensor),
                         "call operators of the library: library.call(NAME, tensor); library.names() lists them")


def _operands(tensor: Tensor, values: Any) -> list[Any]:
    return [tensor.beside(value) for value in values]


def _where(tensor: Tensor, condition: Any, a: Any, b: Any) -> Any:
    typed = next((each for each in (a, b) if isinstance(each, Tensor)), None)
    if typed is None:  # arrays and numbers alone: the dtype is NumPy's
        kind = np.result_type(a, b)
        a, b = np.asarray(a, kind), np.asarray(b, kind)
    else:
        a, b = typed.beside(a), typed.beside(b)
    return tensor.graph.call("where", condition, a, b)


def _joined(operator: str) -> Callable[..., Any]:
    def join(tensor: Tensor, parts: Any, axis: int = 0) -> Any:
        return tensor.graph.call(operator, _operands(tensor, parts), axis=axis)
    return join


def _expand_dims(_: Tensor, a: Tensor, axis: Axes) -> Any:
    return a.graph.call("unsqueeze", a, axes=axes_of(a, axis))


def _like(value: float) -> Callable[..., Any]:
    def fill(_: Tensor, a: Tensor) -> Any:
        return a.graph.constant("constant", np.full(a.shape, value, _heddle.numpy_type(a.dtype)))
    return fill


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "where": _where, "concatenate": _joined("concat"), "stack": _joined("stack"), "expand_dims": _expand_dims,
    "zeros_like": _like(0), "ones_like": _like(1),
    "shape": lambda _, a: tuple(a.shape), "ndim": lambda _, a: a.ndim, "size": lambda _, a: a.size,
    "broadcast_to": lambda _, a, shape: a.graph.call("expand", a, shape=[shape] if isinstance(shape, int) else list(shape)),
    "take": lambda _, a, indices, axis: taken(a, indices, axis),
    "flip": lambda _, a, axis=None: a.graph.call("flip", a, axes=axes_of(a, axis)),
    "sort": lambda _, a, axis=-1: a.graph.call("sort", a, axis=axis),
    "argsort": lambda _, a, axis=-1: a.graph.call("argsort", a, axis=axis),
    "tril": lambda _, a, k=0: a.graph.call("trilu", a, k=k, upper=False),
    "triu": lambda _, a, k=0: a.graph.call("trilu", a, k=k, upper=True),
}
