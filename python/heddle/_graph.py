"""Graphs built by calls."""
from __future__ import annotations

import json
from typing import Any, Iterable, Sequence

from . import _heddle
from ._errors import Diagnostic, diagnostics_of
from ._library import FOLDER, Library, Progress, shipped_library
from ._session import InferenceSession, Session

Tensor = _heddle.Tensor  #: A tensor of a graph: `name`, `dtype`, `shape`.


def _listed(tensors: Tensor | Iterable[Tensor]) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


class Graph:
    """A graph built by calls: each operator is applied at once, so that what does not fit is refused where it is called."""

    def __init__(self, library: Library | None = None) -> None:
        self._graph = _heddle.Graph((library or shipped_library())._library)

    def tensor(self, name: str, dtype: Any, shape: Sequence[int], start: Sequence[int] = ()) -> Tensor:
        """An input. Its range begins at `start`, by default at zeros."""
        return self._graph.tensor(name, dtype, list(shape), list(start))

    def constant(self, name: str, value: Any) -> Tensor:
        """A tensor with a value, which is copied."""
        return self._graph.constant(name, value)

    def __repr__(self) -> str:
        return self._graph.print()

    def call(self, operator: str | InferenceSession, /, *inputs: Any, label: str = "", **named: Any) -> Any:
        """Applies an operator, or a model, to tensors of this graph: its result, or a tuple of several. `label` names the
        operation. What a model reads to decide a shape or a branch must be a constant."""
        if isinstance(operator, InferenceSession):
            return self._graph.call_model(operator._session, inputs, named, label or "model")
        return self._graph.call(operator, inputs, named, label)

    def gradient(self, outputs: Tensor | Iterable[Tensor], of: Tensor | Iterable[Tensor],
                 adjoints: Tensor | Iterable[Tensor] = ()) -> Any:
        """Adds what computes the gradient of `outputs` with respect to `of`, inputs or constants of the graph: a tensor for a
        tensor, else a tuple. `adjoints` are those of the outputs, by default ones: the gradient of the sum of all elements."""
        results = self._graph.gradient(_listed(outputs), wanted := _listed(of), _listed(adjoints))
        return (results,) if len(wanted) == 1 and not isinstance(of, Tensor) else results

    def validate(self, environment: str = "heddle") -> list[Diagnostic]:
        """All that is wrong with the graph as a document of this environment (a shipped one, or a file); empty: nothing."""
        return diagnostics_of(json.loads(self._graph.validate(environment, str(FOLDER / "environments"))))

    def json(self) -> str:
        """The graph as a document in the published Loom layout (docs/graphs.md)."""
        return self._graph.json()

    def svg(self, title: str = "graph", *, fused: bool = False, unfold: bool = False) -> str:
        """A picture of it, as `heddle graph --svg` draws: of its operations, or, fused, of the launches that they become.
        Unfolded, what repeats is drawn as often as it is there."""
        return self._graph.svg(title, fused, unfold)

    def _repr_svg_(self) -> str:
        return self.svg()

    def compile(self, outputs: Iterable[Tensor] = (), *, threads: int = 0, progress: Progress | None = None) -> Session:
        """A session that computes `outputs`, by default all results that nothing reads."""
        return Session(self._graph.compile(list(outputs), threads), progress)
