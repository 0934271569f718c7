"""ONNX Runtime's options of sessions and runs (docs/python.md)."""
from __future__ import annotations

import contextlib
import enum
import threading
from typing import Any, Iterator, Mapping, Protocol

from . import _heddle
from ._onnxruntime_absent import refuse, without_absent
from ._onnxruntime_names import Entry, RUN_ENTRIES, SESSION_ENTRIES


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


class ExecutionOrder(enum.IntEnum):
    """Accepted and without effect."""

    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


class _Entries:
    """Configuration entries, by key: only those that are known to change nothing may be set."""

    def __init__(self, owner: str, known: Mapping[str, Entry]) -> None:
        self._owner = owner
        self._known = known
        self._set: dict[str, str] = {}

    def add(self, key: str, value: str) -> None:
        entry = self._known.get(key)
        if entry is None:
            _heddle.raise_not_there(f"{self._owner} entry {key}", "leave it out: it has no meaning here")
        elif entry.values and value not in entry.values:
            _heddle.raise_option(key, " or ".join(repr(allowed) for allowed in entry.values) + f": {entry.why}", repr(value))
        self._set[key] = value

    def get(self, key: str) -> str:
        if key not in self._set:
            raise RuntimeError(f"{self._owner} does not have configuration with key: {key}")
        return self._set[key]

    def __bool__(self) -> bool:
        return bool(self._set)

    def __repr__(self) -> str:
        return repr(self._set)


class _Options:
    """Settings with defaults; what differs from them is shown. Other names cannot be set."""

    _DEFAULTS: dict[str, Any]
    __slots__: tuple[str, ...] = ()

    def _reset(self) -> None:
        for name, value in self._DEFAULTS.items():
            setattr(self, name, value)

    def __repr__(self) -> str:
        changed = [f"{name}={getattr(self, name)!r}" for name, default in self._DEFAULTS.items()
                   if getattr(self, name) != default]
        return f"{type(self).__name__}({', '.join(changed)})"


@without_absent
class SessionOptions(_Options):
    """Options of a session. `intra_op_num_threads` are its threads, 0 for all cores. docs/python.md says which options have
    an effect, which are accepted without one, and which are refused."""

    _DEFAULTS = dict(intra_op_num_threads=0, inter_op_num_threads=0, use_per_session_threads=True,
                     graph_optimization_level=GraphOptimizationLevel.ORT_ENABLE_ALL,
                     execution_mode=ExecutionMode.ORT_SEQUENTIAL, execution_order=ExecutionOrder.DEFAULT,
                     log_severity_level=-1, log_verbosity_level=0, logid="", enable_mem_pattern=True, enable_mem_reuse=True,
                     enable_cpu_mem_arena=True, use_deterministic_compute=False, enable_profiling=False,
                     profile_file_prefix="onnxruntime_profile_")
    __slots__ = (*_DEFAULTS, "_entries", "_providers", "_dimensions")

    intra_op_num_threads: int
    inter_op_num_threads: int
    use_per_session_threads: bool
    graph_optimization_level: GraphOptimizationLevel
    execution_mode: ExecutionMode
    execution_order: ExecutionOrder
    log_severity_level: int
    log_verbosity_level: int
    logid: str
    enable_mem_pattern: bool
    enable_mem_reuse: bool
    enable_cpu_mem_arena: bool
    use_deterministic_compute: bool
    enable_profiling: bool
    profile_file_prefix: str

    def __init__(self) -> None:
        self._reset()
        self._entries = _Entries("SessionOptions", SESSION_ENTRIES)
        self._providers: list[tuple[str, dict[str, str]]] = []
        self._dimensions: dict[str, int] = {}

    def __reduce__(self) -> Any:
        return type(self), (), {**{name: getattr(self, name) for name in self.__slots__}, "_entries": self._entries._set}

    def __setstate__(self, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            if name == "_entries":
                self._entries._set.update(value)
            else:
                setattr(self, name, value)

    @property
    def optimized_model_filepath(self) -> str:
        return ""

    @optimized_model_filepath.setter
    def optimized_model_filepath(self, path: str) -> None:
        if path:
            refuse("SessionOptions", "optimized_model_filepath")

    def add_session_config_entry(self, key: str, value: str) -> None:
        self._entries.add(key, value)

    def get_session_config_entry(self, key: str) -> str:
        return self._entries.get(key)

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        """The open dimension `name` has this size: inputs of another are refused."""
        self._dimensions[name] = int(size)

    def add_provider(self, name: str, options: Mapping[str, str]) -> None:
        self._providers.append((name, dict(options)))

    def has_providers(self) -> bool:
        return bool(self._providers)


class _Cancellable(Protocol):
    def cancel(self) -> None: ...


@without_absent
class RunOptions(_Options):
    """Options of a run. `terminate = True`, from any thread, ends runs with these options that compile, and those to come."""

    _DEFAULTS = dict(log_severity_level=-1, log_verbosity_level=0, logid="", only_execute_path_to_fetches=False)
    __slots__ = (*_DEFAULTS, "_entries", "_terminate", "_running", "_lock")

    log_severity_level: int
    log_verbosity_level: int
    logid: str
    only_execute_path_to_fetches: bool

    def __init__(self) -> None:
        self._reset()
        self._entries = _Entries("RunOptions", RUN_ENTRIES)
        self._terminate = False
        self._running: list[_Cancellable] = []
        self._lock = threading.Lock()

    @property
    def terminate(self) -> bool:
        return self._terminate

    @terminate.setter
    def terminate(self, value: bool) -> None:
        with self._lock:
            self._terminate = bool(value)
            running = list(self._running) if value else []
        for session in running:
            session.cancel()

    @contextlib.contextmanager
    def _run(self, session: _Cancellable) -> Iterator[None]:
        with self._lock:
            if self._terminate:
                _heddle.raise_cancelled()
            self._running.append(session)
        try:
            yield
        finally:
            with self._lock:
                self._running.remove(session)

    def add_run_config_entry(self, key: str, value: str) -> None:
        self._entries.add(key, value)

    def get_run_config_entry(self, key: str) -> str:
        return self._entries.get(key)
