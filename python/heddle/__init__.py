"""Heddle: a tensor compiler in which an operator is a short text.

    import heddle as ort                              # the one changed import
    session = ort.InferenceSession("model.onnx")
    outputs = session.run(None, {"x": array})

    library = heddle.load_library("my.yaml")          # shipped operators, and yours
    y = library.call("softmax", x, axis=-1)

    graph = heddle.Graph()                            # operators to a graph: checked, exchanged, drawn, run
    a, b = graph.tensor("A", "int32", [10, 10]), graph.tensor("B", "int32", [10, 10])
    graph.call("add", [a, b])

Arrays are NumPy's, or anything with `__dlpack__`; they are read in place where they are contiguous, and results own their
memory. What is refused raises `heddle.Error`. docs/python.md says more.
"""
from __future__ import annotations

import functools
import json
import os
import pathlib
from typing import Any, Callable, Iterable, Mapping, Sequence

from . import _heddle
from ._errors import Context, Diagnostic, Error, Place, diagnostics_of
from ._onnxruntime import (ExecutionMode, GraphOptimizationLevel, SessionOptions, check_providers,
                           get_available_providers, set_default_logger_severity)

__version__: str = _heddle.build_info()["version"]
__all__ = ["Context", "Diagnostic", "Error", "ExecutionMode", "Graph", "GraphOptimizationLevel", "InferenceSession",
           "Library", "NodeArg", "Place", "Progress", "Session", "SessionOptions", "Tensor", "build_info",
           "get_available_providers", "load_library", "set_default_logger_severity", "use_cache"]

#: Told how far a compile is: its stage (load, symbolic, fusion, plan, code, link, prepare), how many of how many of its units are
#: done, and the seconds since it began. It is called by the thread that runs; what it raises ends the compile.
Progress = Callable[[str, int, int, float], None]

_FOLDER = pathlib.Path(__file__).parent
_ONNX_TYPES = {"float32": "float", "float64": "double"}


def build_info() -> dict[str, str]:
    """What this build is: its `version` and `commit`, `llvm`'s version, and the `triple`, `cpu` and `features` of the target."""
    return _heddle.build_info()


class NodeArg:
    """An input or output of a session: `name`, `shape` (a number, the name of an open dimension, or None where it has none)
    and `type` as ONNX Runtime spells it, such as `tensor(float)`."""

    name: str
    shape: list[int | str | None] | None
    type: str

    def __init__(self, port: _heddle.Port) -> None:
        self.name = port.name
        self.shape = port.shape
        self.type = f"tensor({_ONNX_TYPES.get(port.dtype, port.dtype)})"

    def __repr__(self) -> str:
        return f"NodeArg(name='{self.name}', type='{self.type}', shape={self.shape})"


class Session:
    """Something compiled: arrays by name in, arrays out. Made by `InferenceSession` and `Graph.compile`.

    It is compiled when the first arrays come, and again for each new shape; the programs used last are kept. Several
    threads may run one session: one after another.
    """

    def __init__(self, session: _heddle.Session, progress: Progress | None = None) -> None:
        self._session = session
        self._progress = progress

    def get_inputs(self) -> list[NodeArg]:
        return [NodeArg(port) for port in self._session.inputs]

    def get_outputs(self) -> list[NodeArg]:
        return [NodeArg(port) for port in self._session.outputs]

    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any],
            run_options: Any = None) -> list[Any]:
        """The named outputs, or all, in order, as NumPy arrays. `run_options` changes nothing."""
        names = None if output_names is None else list(output_names)
        return self._session.run(names, dict(input_feed), self._progress)

    def cancel(self) -> None:
        """From another thread: a `run` that is compiling now raises `Error` (support.cancelled) within some milliseconds.
        The programs that are there stay; the next run compiles anew."""
        self._session.cancel()


class InferenceSession(Session):
    """An ONNX model, from a file or from bytes, used as ONNX Runtime's.

    `threads` (or `sess_options.intra_op_num_threads`) is their number, 0 for all cores. `library` has the operators, by
    default the shipped ones. Providers other than the CPU's give a warning. `progress` is told how far compiling is.
    """

    def __init__(self, path_or_bytes: str | os.PathLike[str] | bytes, sess_options: SessionOptions | None = None,
                 providers: Iterable[Any] | None = None, provider_options: Any = None, *, threads: int = 0,
                 library: Library | None = None, progress: Progress | None = None) -> None:
        check_providers(providers)
        if not threads and sess_options is not None:
            threads = sess_options.intra_op_num_threads
        content = path_or_bytes if isinstance(path_or_bytes, bytes) else None
        path = "model" if content is not None else os.fspath(path_or_bytes)
        super().__init__(_heddle.model_session(path, content, (library or _shipped())._library, threads), progress)

    def get_providers(self) -> list[str]:
        return get_available_providers()


class Library:
    """Operators by name: those that come with Heddle, and those of your files. Made by `load_library`."""

    def __init__(self, library: _heddle.Library, progress: Progress | None = None) -> None:
        self._library = library
        self._progress = progress

    def names(self) -> list[str]:
        """The shipped operators."""
        return self._library.names()

    def call(self, operator: str, /, *inputs: Any, **named: Any) -> Any:
        """Runs one operator: inputs by place or by name, a list for a variadic one; parameters by name.

        One array, or a tuple where the operator has several results. Compiled when the first arrays of a kind come.
        """
        return self._library.call(operator, inputs, named, self._progress)

    def cancel(self) -> None:
        """From another thread: a `call` that is compiling now raises `Error` (support.cancelled)."""
        self._library.cancel()


def load_library(*paths: str | os.PathLike[str], threads: int = 0, progress: Progress | None = None,
                 **named: str | os.PathLike[str]) -> Library:
    """The shipped operators, and those of template files or folders of them.

    A file's operators are also `file::operator`; `load_library(mine="folder")` chooses that name.
    """
    return Library(_heddle.Library(str(_FOLDER / "operators"), [os.fspath(path) for path in paths],
                                   {name: os.fspath(path) for name, path in named.items()}, threads), progress)


@functools.cache
def _shipped() -> Library:
    return load_library()


def use_cache(folder: str | os.PathLike[str] | None) -> None:
    """Keeps compiled code for later processes in this folder; None: nowhere.

    By default it is kept in `$XDG_CACHE_HOME/heddle`, or `~/.cache/heddle`. `heddle cache` shows what is there.
    """
    _heddle.use_cache(None if folder is None else os.fspath(folder))


Tensor = _heddle.Tensor  #: A tensor of a graph: `name`, `dtype`, `shape`.


class Graph:
    """A graph built by calls: each operator is applied at once, so that what does not fit is refused where it is called."""

    def __init__(self, library: Library | None = None) -> None:
        self._graph = _heddle.Graph((library or _shipped())._library)

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
        return diagnostics_of(json.loads(self._graph.validate(environment, str(_FOLDER / "environments"))))

    def json(self) -> str:
        """The graph as a document in the published Loom layout (docs/graphs.md)."""
        return self._graph.json()

    def svg(self, title: str = "graph") -> str:
        """A picture of it, as `heddle graph --svg` draws."""
        return self._graph.svg(title)

    def compile(self, outputs: Iterable[Tensor] = (), *, threads: int = 0, progress: Progress | None = None) -> Session:
        """A session that computes `outputs`, by default all results that nothing reads."""
        return Session(self._graph.compile(list(outputs), threads), progress)
