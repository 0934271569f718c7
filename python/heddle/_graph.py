"""Graphs built by calls."""
from __future__ import annotations

import json
from typing import Any, Iterable, Sequence

from . import _heddle
from ._errors import Diagnostic, diagnostics_of
from ._library import FOLDER, Library, Progress, shipped_library
from ._session import Session

Tensor = _heddle.Tensor  #: A tensor of a graph: `name`, `dtype`, `shape`.


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

    def call(self, operator: str, /, *inputs: Any, label: str = "", **named: Any) -> Any:
        """Applies an operator to tensors of this graph: its result, or a tuple of several. `label` names the operation."""
        return self._graph.call(operator, inputs, named, label)

    def validate(self, environment: str = "heddle") -> list[Diagnostic]:
        """All that is wrong with the graph as a document of this environment (a shipped one, or a file); empty: nothing."""
        return diagnostics_of(json.loads(self._graph.validate(environment, str(FOLDER / "environments"))))

    def json(self) -> str:
        """The graph as a document in the published Loom layout (docs/graphs.md)."""
        return self._graph.json()

    def svg(self, title: str = "graph") -> str:
        """A picture of it, as `heddle graph --svg` draws."""
        return self._graph.svg(title)

    def compile(self, outputs: Iterable[Tensor] = (), *, threads: int = 0, progress: Progress | None = None) -> Session:
        """A session that computes `outputs`, by default all results that nothing reads."""
        return Session(self._graph.compile(list(outputs), threads), progress)
