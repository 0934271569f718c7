"""Graphs built by calls."""
from __future__ import annotations

import dataclasses
import functools
import json
import os
from typing import Any, Iterable, NamedTuple, Sequence

import numpy as np

from . import _heddle, _pickle
from ._errors import Diagnostic, Error, diagnostics_of
from ._library import FOLDER, Library, Progress, checked_threads, is_array, library_of
from ._session import InferenceSession, Session
from ._tensor import Tensor
from ._tree import leaves_of, replaced


def _listed(tensors: Tensor | Iterable[Any]) -> list[Any]:
    return [_inner(tensor) for tensor in ([tensors] if isinstance(tensors, Tensor) else tensors)]


def _inner(value: Any) -> Any:
    return value._tensor if isinstance(value, Tensor) else value


def _texts(shards: Sequence[str]) -> list[str]:
    if isinstance(shards, str) or not all(isinstance(text, str) for text in shards):
        _heddle.raise_option("shards", "a list of texts, such as ['in_row=2,k=3']", repr(shards))
    return list(shards)


@dataclasses.dataclass(frozen=True)
class _Number:
    """Of a tensor, where there is no graph."""

    number: int


class _Step(NamedTuple):
    what: str
    arguments: tuple[Any, ...]
    made: Any  # a tensor, or a tuple


def _copied(value: Any) -> Any:
    """An array as it is now: later its owner may write to it."""
    if isinstance(value, (type, np.generic)) or not is_array(value):
        return value
    try:
        return _heddle.copied(value)
    except Error:  # of a type that NumPy lacks
        return value


class Graph:
    """A graph built by calls: each operator is applied at once, so that what does not fit is refused where it is called."""

    def __init__(self, library: Library | str | os.PathLike[str] | None = None) -> None:
        self.library = library_of(library)
        self._graph = _heddle.Graph(self.library._library)
        self._steps: list[_Step] = []  # from which it is made again in another process

    def tensor(self, name: str, dtype: Any, shape: Sequence[int], start: Sequence[int] = ()) -> Tensor:
        """An input. Its range begins at `start`, by default at zeros."""
        for which, sizes in (("shape", shape), ("start", start)):
            if isinstance(sizes, str) or not all(hasattr(size, "__index__") for size in sizes):
                _heddle.raise_option(which, "whole numbers: a graph of Python's has no open dimensions", repr(sizes))
        if not isinstance(name, str):
            _heddle.raise_option("name", "a text", repr(name))
        made = self._graph.tensor(name, dtype, list(shape), list(start))
        self._steps.append(_Step("tensor", (name, made.dtype, list(shape), list(start)), made))
        return Tensor(self, made)

    def constant(self, name: str, value: Any) -> Tensor:
        """A tensor with a value, which is copied."""
        made = self._graph.constant(name, value)
        self._steps.append(_Step("constant", (name,), made))  # its value is in the graph
        return Tensor(self, made)

    def held(self, value: Any) -> Tensor:
        """A copy of a tensor or array that counts as computed: no operator of it is worked out while the graph is made, so that
        gradients with respect to it are those of the operators."""
        return Tensor(self, self._do("held", _inner(value)))

    def __repr__(self) -> str:
        return self._graph.print()

    def _do(self, what: str, *arguments: Any) -> Any:
        """A step of the graph; what it is given is kept as it is now."""
        made = getattr(self._graph, what)(*arguments)
        self._steps.append(_Step(what, replaced(arguments, _copied), made))
        return made

    def _model(self, model: InferenceSession, *arguments: Any) -> Any:
        made = self._graph.call_model(model._session, *arguments)
        self._steps.append(_Step("model", (model, *replaced(arguments, _copied)), made))
        return made

    def _wrapped(self, results: Any) -> Any:
        return tuple(Tensor(self, result) for result in results) if isinstance(results, tuple) else Tensor(self, results)

    def call(self, operator: str | InferenceSession, /, *inputs: Any, label: str = "", **named: Any) -> Any:
        """Applies an operator, or a model, to tensors of this graph: its result, or a tuple of several. An array is a constant.
        `label` names the operation. What a model reads to decide a shape or a branch must be a constant. `weights`, a dictionary,
        stand in place of a model's own (`InferenceSession.weights`)."""
        inputs, named = replaced(inputs, _inner), replaced(named, _inner)
        if isinstance(operator, InferenceSession):
            weights = named.pop("weights") if isinstance(named.get("weights"), dict) else {}
            return self._wrapped(self._model(operator, inputs, named, weights, label or "model"))
        return self._wrapped(self._do("call", operator, inputs, named, label))

    @property
    def operations(self) -> int:
        """How many operations it has now."""
        return self._graph.operations

    def gradient(self, outputs: Tensor | Iterable[Tensor], of: Tensor | Iterable[Tensor],
                 adjoints: Tensor | Iterable[Any] = (), *, since: int = 0) -> Any:
        """Adds what computes the gradient of `outputs` with respect to `of`: a tensor for a tensor, else a tuple. `adjoints` are
        those of the outputs, by default ones: the gradient of the sum of all elements. What reads `of` before there were `since`
        operations counts as given. Arrays among `adjoints` are constants."""
        results = self._do("gradient", _listed(outputs), wanted := _listed(of), _listed(adjoints), since)
        results = self._wrapped(results)
        return (results,) if len(wanted) == 1 and not isinstance(of, Tensor) else results

    def tangents(self, outputs: Iterable[Tensor], of: Iterable[Tensor], tangents: Iterable[Any], *,
                 since: int = 0) -> tuple[Tensor, ...]:
        """Adds what computes how `outputs` change when `of`, distinct tensors, change as `tangents` say: a tensor for each of the
        outputs, which are distinct and of float types. `since`: as for gradients."""
        return self._wrapped(self._do("tangents", _listed(outputs), _listed(of), _listed(tangents), since))

    def batched(self, outputs: Iterable[Tensor], of: Iterable[Tensor], batches: Iterable[Tensor], *,
                since: int = 0) -> tuple[Tensor, ...]:
        """Adds what computes `outputs` where `batches`, which have one more first axis, stand for `of`, distinct tensors: with
        that axis, or as they are if they do not depend on them. `since`: as for gradients."""
        return self._wrapped(self._do("batched", _listed(outputs), _listed(of), _listed(batches), since))

    def validate(self, environment: str = "heddle", *, shards: Sequence[str] = ()) -> list[Diagnostic]:
        """All that is wrong with the graph as a document of this environment (a shipped one, or a file); empty: nothing.
        `shards`: as for `json`."""
        folder = str(FOLDER / "environments")
        return diagnostics_of(json.loads(self._graph.validate(environment, folder, _texts(shards))))

    def json(self, *, shards: Sequence[str] = ()) -> str:
        """The graph as a document in the published Loom layout (docs/graphs.md). `shards`, such as `["in_row=2,k=3"]`, cut axes of its
        operations into parts, each an application, as `heddle graph --shard` does."""
        return self._graph.json(_texts(shards))

    def svg(self, title: str = "graph", *, fused: bool = False, unfold: bool = False, shards: Sequence[str] = ()) -> str:
        """A picture of it, as `heddle graph --svg` draws: of its operations, or, fused, of the launches that they become, or, cut
        into `shards` (as for `json`), of their applications. Unfolded, what repeats is drawn as often as it is there."""
        if fused and shards:
            _heddle.raise_option("fused", "False: shards are of operations, not of launches", repr(fused))
        return self._graph.svg(title, fused, unfold, _texts(shards))

    def _repr_svg_(self) -> str:
        return self.svg()

    def compile(self, outputs: Iterable[Tensor] = (), *, threads: int = 0, progress: Progress | None = None,
                donate: Iterable[str | Tensor] = ()) -> Session:
        """A session that computes `outputs`, by default all results that nothing reads. `donate` are inputs whose arrays its runs
        overwrite, each by a result of the same shape and dtype: that result is this very array."""
        names = [tensor.name if isinstance(tensor, Tensor) else tensor for tensor in donate]
        listed, threads, steps = _listed(outputs), checked_threads(threads), len(self._steps)
        session = Session(self._graph.compile(listed, threads, names), progress)
        session._overwrites = bool(names)
        session._recipe = functools.partial(self._recipe, steps, listed, threads, names)
        return session

    def _recipe(self, steps: int, outputs: list[_heddle.Tensor], threads: int, donate: list[str]) -> _pickle.Recipe:
        numbers: dict[int, int] = {}  # of tensors, among all that steps make
        texts, count = [], 0

        def numbered(leaf: Any) -> Any:
            return _Number(numbers[leaf.id]) if isinstance(leaf, _heddle.Tensor) else leaf
        for step in self._steps[:steps]:
            value = (self._graph.value(step.made),) if step.what == "constant" else ()
            texts.append((step.what, (*replaced(step.arguments, numbered), *value)))
            for tensor in leaves_of(step.made):
                numbers.setdefault(tensor.id, count)
                count += 1
        arguments = (self.library, texts, [numbered(output) for output in outputs], threads, donate)
        return _compiled_again, arguments, arguments


def _compiled_again(library: Library, steps: list[tuple[str, tuple[Any, ...]]], outputs: list[_Number], threads: int,
                    donate: list[str]) -> Session:
    """In another process: the same steps."""
    graph = Graph(library)
    made: list[_heddle.Tensor] = []

    def tensor(leaf: Any) -> Any:
        return made[leaf.number] if isinstance(leaf, _Number) else leaf
    for what, arguments in steps:
        arguments = replaced(arguments, tensor)
        if what == "constant":
            results = graph.constant(*arguments)._tensor
        elif what == "model":
            results = graph._model(*arguments)
        else:
            results = graph._do(what, *arguments)
        made.extend(leaves_of(results))
    return graph.compile([Tensor(graph, tensor(output)) for output in outputs], threads=threads, donate=donate)
