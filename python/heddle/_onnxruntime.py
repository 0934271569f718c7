"""What ONNX Runtime's module says of itself and of its providers."""
from __future__ import annotations

import json
import warnings
from typing import Any, Iterable

from . import _heddle

_CPU = "CPUExecutionProvider"
_global_threads = 0  # of sessions without threads of their own


def get_available_providers() -> list[str]:
    return [_CPU]


def get_all_providers() -> list[str]:
    return [_CPU]


def get_device() -> str:
    return "CPU"


def get_version_string() -> str:
    """Heddle's version."""
    return _heddle.build_info()["version"]


def get_build_info() -> str:
    """`build_info()` as a text."""
    return json.dumps(_heddle.build_info())


def print_debug_info() -> None:
    for name, value in _heddle.build_info().items():
        print(f"{name}: {value}")


def has_collective_ops() -> bool:
    return False


def set_global_thread_pool_sizes(intra_op_num_threads: int = 0, inter_op_num_threads: int = 0) -> None:
    """The threads of sessions with `use_per_session_threads = False` that are made from now on."""
    global _global_threads
    _global_threads = intra_op_num_threads


def global_threads() -> int:
    return _global_threads


def set_default_logger_severity(severity: int) -> None:
    """Heddle logs nothing."""


def set_default_logger_verbosity(verbosity: int) -> None:
    """Heddle logs nothing."""


def disable_telemetry_events() -> None:
    """There is no telemetry."""


def preload_dlls(cuda: bool = True, cudnn: bool = True, msvc: bool = True, directory: Any = None) -> None:
    """There is nothing to load."""


def check_providers(providers: Iterable[Any] | None, provider_options: Any = None) -> None:
    """Warns of those that are not there, if the CPU's is not among them; a provider of the CPU has no options that matter."""
    names = [entry if isinstance(entry, str) else entry[0] for entry in providers or [_CPU]]
    if _CPU not in names:
        warnings.warn(f"heddle runs on the CPU, not on {', '.join(names)}", stacklevel=4)
