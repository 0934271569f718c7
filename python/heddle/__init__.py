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

import os
from typing import Any

from . import _heddle
from ._errors import Context, Diagnostic, Error, Place
from ._functions import Function, function, grad, jvp, value_and_grad, vjp, vmap
from ._graph import Graph, Tensor
from ._library import Explanation, Library, Progress, Rewritten, load_library, parse_library
from ._onnxruntime import (disable_telemetry_events, get_all_providers, get_available_providers, get_build_info, get_device,
                           get_version_string, has_collective_ops, preload_dlls, print_debug_info,
                           set_default_logger_severity, set_default_logger_verbosity, set_global_thread_pool_sizes)
from ._onnxruntime_absent import absent
from ._onnxruntime_options import ExecutionMode, ExecutionOrder, GraphOptimizationLevel, RunOptions, SessionOptions
from ._onnxruntime_values import IOBinding, OrtDevice, OrtDeviceVendorId, OrtValue, copy_tensors
from ._places import Machines, SpreadArray, machines, shard
from ._tape import Checkpoints, Tape, TapeEntry, Value
from ._session import Comparison, InferenceSession, Launch, ModelMetadata, NodeArg, Session

__version__: str = _heddle.build_info()["version"]
__all__ = ["Checkpoints", "Comparison", "Context", "Diagnostic", "Error", "ExecutionMode", "ExecutionOrder", "Explanation",
           "Function", "Graph", "GraphOptimizationLevel", "IOBinding", "InferenceSession", "Launch", "Library", "Machines",
           "ModelMetadata", "NodeArg", "OrtDevice", "OrtDeviceVendorId", "OrtValue", "Place", "Progress",
           "Rewritten", "RunOptions", "Session", "SessionOptions", "SpreadArray", "Tape", "TapeEntry", "Tensor", "Value", "build_info", "copy_tensors",
           "disable_telemetry_events", "get_all_providers", "get_available_providers", "get_build_info",
           "get_device", "function", "get_version_string", "grad", "has_collective_ops", "jvp", "limit_work", "load_library", "machines",
           "parse_library", "preload_dlls", "print_debug_info", "set_default_logger_severity",
           "set_default_logger_verbosity", "set_global_thread_pool_sizes", "shard", "use_cache", "value_and_grad", "vjp", "vmap"]


def build_info() -> dict[str, str]:
    """What this build is: its `version` and `commit`, `llvm`'s version, and the `triple`, `cpu` and `features` of the target."""
    return _heddle.build_info()


def limit_work(operations: float) -> None:
    """How many scalar operations a run of what is compiled from now on may take: 1e13 if nothing else is said. More is refused
    before anything is computed (evaluate.too_much_work)."""
    _heddle.limit_work(operations)


def use_cache(folder: str | os.PathLike[str] | None) -> None:
    """Keeps compiled code for later processes in this folder; None: nowhere.

    By default it is kept in `$XDG_CACHE_HOME/heddle`, or `~/.cache/heddle`. `heddle cache` shows what is there.
    """
    _heddle.use_cache(None if folder is None else os.fspath(folder))


def __getattr__(name: str) -> Any:
    """Names of ONNX Runtime that are not there say so when they are used."""
    return absent(name)
