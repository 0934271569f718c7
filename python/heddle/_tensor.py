"""Tensors of a graph, which behave as arrays do where an operator says what that means."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Iterator, Sequence

import numpy as np

from . import _heddle
from ._library import is_array

if TYPE_CHECKING:
    from ._graph import Graph

Axes = int | Sequence[int] | None


def _calling(operator: str, swapped: bool = False) -> Callable[[Tensor, Any], Any]:
    def apply(tensor: Tensor, other: Any) -> Any:
        beside = tensor.beside(other)
        if beside is None:
            return NotImplemented
        return tensor.graph.call(operator, *((beside, tensor) if swapped else (tensor, beside)))
    return apply


def _bitwise(of_bools: str, of_integers: str, swapped: bool = False) -> Callable[[Tensor, Any], Any]:
    bools, integers = _calling(of_bools, swapped), _calling(of_integers, swapped)

    def apply(tensor: Tensor, other: Any) -> Any:
        return (bools if tensor.dtype == "bool" else integers)(tensor, other)
    return apply


def _quotient(swapped: bool = False) -> Callable[[Tensor, Any], Any]:
    divided = _calling("div", swapped)

    def apply(tensor: Tensor, other: Any) -> Any:
        if tensor.dtype.startswith(("int", "uint")):  # NumPy's would be of a float type, the operator's is cut
            _heddle.raise_option("/", "a tensor of a float type: astype makes one, and // divides integers", repr(tensor))
        return divided(tensor, other)
    return apply


def axes_of(tensor: Tensor, axis: Axes) -> list[int]:
    """All of them where none is named."""
    return list(range(tensor.ndim)) if axis is None else [axis] if isinstance(axis, int) else list(axis)


def _reducing(operator: str) -> Callable[..., Any]:
    def apply(tensor: Tensor, axis: Axes = None, keepdims: bool = False) -> Any:
        return tensor.graph.call(operator, tensor, keepdims=keepdims, axes=axes_of(tensor, axis))
    return apply


def _refusing(what: str, remedy: str) -> Callable[..., Any]:
    def refuse(tensor: Tensor, *_: Any, **__: Any) -> Any:
        _heddle.raise_traced(what, repr(tensor), remedy)
    return refuse


_LATER = "make the function return it, and ask the array that the compiled function gives"


class Tensor:
    """A tensor of a graph: `name`, `dtype`, `shape`, `is_constant`.

    Operators of Python, indexing by numbers and slices, the methods of arrays below and NumPy's functions of `_numpy.py` call operators of
    the library. What stands beside a tensor may be an array, or a number, which has the tensor's type then. Its elements have no
    values while the graph is made, so that nothing in Python can depend on them.
    """

    __slots__ = ("graph", "_tensor")

    def __init__(self, graph: Graph, tensor: _heddle.Tensor) -> None:
        self.graph = graph
        self._tensor = tensor

    @property
    def name(self) -> str:
        return self._tensor.name

    @property
    def dtype(self) -> str:
        return self._tensor.dtype

    @property
    def shape(self) -> list[int]:
        return self._tensor.shape

    @property
    def is_constant(self) -> bool:
        """Its value is known already."""
        return self._tensor.is_constant

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def T(self) -> Tensor:
        return self.transpose()

    def __repr__(self) -> str:
        return repr(self._tensor)

    def beside(self, other: Any) -> Any:
        """What stands beside this tensor, as an operand: a number gets its type. None: it can be none."""
        if not isinstance(other, (bool, int, float)):
            return other if isinstance(other, Tensor) or is_array(other) else None
        value = np.asarray(other).astype(_heddle.numpy_type(self.dtype))
        if isinstance(other, float) and value.dtype.kind in "iub" or isinstance(other, int) and value != other:
            _heddle.raise_option("number", f"a number of {self.dtype}, as the tensor beside it", repr(other))
        return self.graph.constant(str(other), value)

    __add__, __radd__ = _calling("add"), _calling("add", swapped=True)
    __sub__, __rsub__ = _calling("sub"), _calling("sub", swapped=True)
    __mul__, __rmul__ = _calling("mul"), _calling("mul", swapped=True)
    __truediv__, __rtruediv__ = _quotient(), _quotient(swapped=True)
    __floordiv__, __rfloordiv__ = _calling("floor_div"), _calling("floor_div", swapped=True)
    __mod__, __rmod__ = _calling("mod"), _calling("mod", swapped=True)
    __pow__, __rpow__ = _calling("power"), _calling("power", swapped=True)
    __matmul__, __rmatmul__ = _calling("numpy_matmul"), _calling("numpy_matmul", swapped=True)
    __lt__, __le__, __gt__, __ge__ = (_calling(name) for name in ("less", "less_equal", "greater", "greater_equal"))
    __eq__, __ne__ = _calling("equal"), _calling("not_equal")  # type: ignore[assignment]  # as of arrays: by element
    __hash__ = object.__hash__

    __and__, __rand__ = _bitwise("and", "bit_and"), _bitwise("and", "bit_and", swapped=True)
    __or__, __ror__ = _bitwise("or", "bit_or"), _bitwise("or", "bit_or", swapped=True)
    __xor__, __rxor__ = _bitwise("xor", "bit_xor"), _bitwise("xor", "bit_xor", swapped=True)

    def __invert__(self) -> Any:
        return self.graph.call("not" if self.dtype == "bool" else "bit_not", self)

    def __neg__(self) -> Any:
        return self.graph.call("neg", self)

    def __pos__(self) -> Tensor:
        return self

    def __abs__(self) -> Any:
        return self.graph.call("abs", self)

    def __len__(self) -> int:
        if not self.shape:
            _heddle.raise_option("len()", "a tensor with a dimension", repr(self))
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, places: Any) -> Any:
        return _indexed(self, places if isinstance(places, tuple) else (places,))

    __bool__ = _refusing("a condition of Python's", "choose by numpy.where(condition, a, b), or the operator where")
    __float__ = __int__ = __index__ = __complex__ = item = _refusing("a number of Python's", _LATER)
    __array__ = tolist = _refusing("an array with values", f"call an operator of the library on it; or {_LATER}")
    __setitem__ = _refusing("changed in place", "choose by numpy.where, or scatter by the operator scatter_nd")
    __contains__ = _refusing("a condition of Python's", "ask by (tensor == value).any()")

    sum, mean, prod = _reducing("reduce_sum"), _reducing("reduce_mean"), _reducing("reduce_prod")
    max, min = _reducing("reduce_max"), _reducing("reduce_min")
    any, all = _reducing("reduce_any"), _reducing("reduce_all")

    def argmax(self, axis: int | None = None, keepdims: bool = False) -> Any:
        return self._arg("argmax", axis, keepdims)

    def argmin(self, axis: int | None = None, keepdims: bool = False) -> Any:
        return self._arg("argmin", axis, keepdims)

    def _arg(self, operator: str, axis: int | None, keepdims: bool) -> Any:
        along = self.reshape(-1) if axis is None else self
        return self.graph.call(operator, along, axis=0 if axis is None else axis, keepdims=keepdims)

    def cumsum(self, axis: int | None = None) -> Any:
        along = self.reshape(-1) if axis is None else self
        return self.graph.call("cumsum", along, axis=0 if axis is None else axis)

    def astype(self, dtype: Any) -> Any:
        return self.graph.call("cast", self, to=_heddle.dtype_name(dtype))

    def reshape(self, *shape: Any) -> Any:
        sizes = list(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else list(shape)
        known = int(np.prod([size for size in sizes if size != -1], dtype=np.int64))
        if sizes.count(-1) == 1 and known:
            sizes[sizes.index(-1)] = self.size // known
        return self.graph.call("reshape_to", self, shape=sizes)

    def flatten(self) -> Any:
        return self.reshape(-1)

    ravel = flatten

    def transpose(self, *axes: Any) -> Any:
        order = list(axes[0]) if len(axes) == 1 and not isinstance(axes[0], int) else list(axes)
        return self.graph.call("transpose", self, **({"perm": order} if order and order != [None] else {}))

    def swapaxes(self, first: int, second: int) -> Any:
        order = list(range(self.ndim))
        order[first], order[second] = order[second], order[first]
        return self.transpose(order)

    def squeeze(self, axis: Axes = None) -> Any:
        return self.graph.call("squeeze", self, **({} if axis is None else {"axes": axes_of(self, axis)}))

    def clip(self, low: Any = None, high: Any = None) -> Any:
        return self.graph.call("clip", self, *(None if bound is None else self.beside(bound) for bound in (low, high)))

    def dot(self, other: Any) -> Any:
        return self @ other

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        from ._numpy import apply_ufunc
        return apply_ufunc(self, ufunc, method, inputs, options)

    def __array_function__(self, function: Any, _: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        from ._numpy import apply_function
        return apply_function(self, function, arguments, options)


def _whole(tensor: Tensor, places: tuple[Any, ...]) -> list[Any]:
    """The places of all dimensions, with slices for those that are not named."""
    used = sum(place is not None and place is not Ellipsis for place in places)
    dots = [i for i, place in enumerate(places) if place is Ellipsis]
    if used > tensor.ndim or len(dots) > 1:
        _heddle.raise_option("an index", f"at most {tensor.ndim} places, and one ...", repr(places))
    at = dots[0] if dots else len(places)
    return [*places[:at], *[slice(None)] * (tensor.ndim - used), *places[at + len(dots):]]


def _indexed(tensor: Tensor, places: tuple[Any, ...]) -> Any:
    """As NumPy indexes: by numbers, slices, None and ..., and by one list, array or tensor of integers."""
    sliced: list[tuple[int, slice]] = []
    numbers: list[int] = []
    new: list[int] = []
    lists: list[tuple[int, Any]] = []
    axis = 0  # of the tensor
    for place in _whole(tensor, places):
        if place is None:
            new.append(axis - len(numbers) + len(new))
            continue
        if isinstance(place, (int, np.integer)) and not isinstance(place, bool):
            size = tensor.shape[axis]
            if not -size <= place < size:
                _heddle.raise_option("an index", f"from {-size} to {size - 1} for dimension {axis} of {tensor!r}", repr(place))
            at = int(place) % size
            sliced.append((axis, slice(at, at + 1)))
            numbers.append(axis)
        elif isinstance(place, slice):
            if place != slice(None):
                sliced.append((axis, place))
        else:
            lists.append((axis, place))
        axis += 1
    if len(lists) > 1 or lists and (numbers or new):
        _heddle.raise_option("an index", "one list of places, beside slices alone: gather_nd takes more", repr(places))
    result: Any = tensor
    if sliced:
        bounds = [place.indices(tensor.shape[axis]) for axis, place in sliced]
        # A slice that goes down to the first element ends before it: farther below than any size.
        ends = [end if end >= 0 else -tensor.shape[axis] - 1 for (_, end, _), (axis, _) in zip(bounds, sliced)]
        result = tensor.graph.call("slice", tensor, starts=[first for first, _, _ in bounds], ends=ends,
                                   axes=[axis for axis, _ in sliced], steps=[step for _, _, step in bounds])
    if numbers:
        result = result.squeeze(numbers)
    if new:
        result = tensor.graph.call("unsqueeze", result, axes=new)
    for axis, place in lists:
        result = taken(result, place, axis)
    return result


def taken(tensor: Tensor, places: Any, axis: int) -> Any:
    indices = places if isinstance(places, Tensor) else np.asarray(places)
    kind = indices.dtype if isinstance(indices, Tensor) else str(indices.dtype)
    if kind == "bool" or not kind.startswith(("int", "uint")):
        _heddle.raise_option("an index", "integers, slices, None, ..., or a list, array or tensor of integers: how many "
                             "elements a mask chooses is not known while a graph is made (numpy.where keeps the shape)", repr(places))
    return tensor.graph.call("gather", tensor, indices, axis=axis)
