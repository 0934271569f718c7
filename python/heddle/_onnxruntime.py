"""Names of ONNX Runtime that scripts which only run models use. What has no meaning here is accepted and changes nothing."""
from __future__ import annotations

import enum
import warnings
from typing import Any, Iterable


class GraphOptimizationLevel(enum.IntEnum):
    """Accepted and without effect: Heddle always optimises, within the bounds of docs/equality.md."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(enum.IntEnum):
    """Accepted and without effect."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class SessionOptions:
    """Of these, `intra_op_num_threads` counts: the threads of a session, 0 for all cores."""

    __slots__ = ("intra_op_num_threads", "inter_op_num_threads", "graph_optimization_level", "execution_mode",
                 "log_severity_level", "enable_mem_pattern", "enable_cpu_mem_arena", "enable_profiling")

    def __init__(self) -> None:
        self.intra_op_num_threads = 0
        self.inter_op_num_threads = 0
        self.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_ALL
        self.execution_mode = ExecutionMode.ORT_SEQUENTIAL
        self.log_severity_level = 2
        self.enable_mem_pattern = True
        self.enable_cpu_mem_arena = True
        self.enable_profiling = False


def get_available_providers() -> list[str]:
    return ["CPUExecutionProvider"]


def set_default_logger_severity(level: int) -> None:
    """Heddle logs nothing."""


def check_providers(providers: Iterable[Any] | None) -> None:
    names = [entry if isinstance(entry, str) else entry[0] for entry in providers or ["CPUExecutionProvider"]]
    if "CPUExecutionProvider" not in names:
        warnings.warn(f"heddle runs on the CPU, not on {', '.join(names)}", stacklevel=3)
