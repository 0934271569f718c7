"""Sessions: what is compiled and run."""
from __future__ import annotations

import contextlib
import copy
import dataclasses
import json
import os
import threading
import time
from typing import Any, Callable, ContextManager, Iterable, Mapping, Sequence

from . import _heddle, _pickle
from ._errors import Error
from ._library import Library, Progress, checked_threads, graph_of, library_of
from ._onnxruntime import check_providers, get_available_providers, global_threads
from ._onnxruntime_absent import without_absent
from ._onnxruntime_options import RunOptions, SessionOptions
from ._onnxruntime_values import IOBinding, OrtValue, onnx_type_text
from ._profile import Profile

_NO_OPTIONS = "leave it out: heddle has no such option"
_OPTIONS = ("sess_options", "providers", "provider_options", "threads", "library", "rules", "program_cache_bytes", "progress")


class NodeArg:
    """An input or output of a session: `name`, `shape` (a number, the name of an open dimension, or None where it has none)
    and `type` as ONNX Runtime spells it, such as `tensor(float)`."""

    name: str
    shape: list[int | str | None] | None
    type: str

    def __init__(self, port: _heddle.Port) -> None:
        self.name = port.name
        self.shape = port.shape
        self.type = onnx_type_text(port.dtype)

    def __repr__(self) -> str:
        return f"NodeArg(name='{self.name}', type='{self.type}', shape={self.shape})"


class ModelMetadata:
    """What a model says of itself."""

    producer_name: str
    graph_name: str
    domain: str
    description: str
    graph_description: str
    version: int
    custom_metadata_map: dict[str, str]

    def __init__(self, metadata: Mapping[str, Any]) -> None:
        for name, value in metadata.items():
            setattr(self, name, value)

    def __repr__(self) -> str:
        return f"ModelMetadata({', '.join(f'{name}={value!r}' for name, value in vars(self).items() if value)})"


def _array_of(value: Any) -> Any:
    return value.numpy() if isinstance(value, OrtValue) else value


class Session:
    """Something compiled: arrays by name in, arrays out. Made by `InferenceSession` and `Graph.compile`.

    It is compiled when the first arrays come, and again for each new shape; the programs used last are kept. Several
    threads may run one session: one after another.
    """

    def __init__(self, session: _heddle.Session, progress: Progress | None = None) -> None:
        self._session = session
        self._progress = progress
        self._profile: Profile | None = None
        self._overwrites = False  # inputs: what graphs of `donate` do
        self._shapes: dict[str, tuple[int, ...]] = {}  # of the last run
        self._cuts: tuple[Any, ...] | None = None  # over threads as places; None: it is not cut
        self._is_on_machines = False
        self._recipe: Callable[[], _pickle.Recipe] | None = None  # of a graph

    def __reduce__(self) -> Any:
        if self._is_on_machines:
            _heddle.raise_pickle(f"{self!r}", "it runs on several machines", "pickle a session that heddle.shard has not changed")
        made, arguments, named = self._made_of()
        if self._cuts is not None:
            made, arguments, named = _cut_again, (made, arguments, self._cuts), (made, named, self._cuts)
        return _pickle.reduced(self, (made, arguments, named))

    def _made_of(self) -> _pickle.Recipe:
        if self._recipe is None:
            _heddle.raise_pickle(f"{self!r}", "it is a part of a function", "pickle the function")
        return self._recipe()

    def __repr__(self) -> str:
        ports = [", ".join(f"{port.name}: {port.dtype}{_shape_text(port.shape)}" for port in side)
                 for side in (self._session.inputs, self._session.outputs)]
        return f"{type(self).__name__}({ports[0]} -> {ports[1]})"

    def get_inputs(self) -> list[NodeArg]:
        return [NodeArg(port) for port in self._session.inputs]

    def get_outputs(self) -> list[NodeArg]:
        return [NodeArg(port) for port in self._session.outputs]

    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any],
            run_options: RunOptions | None = None) -> list[Any]:
        """The named outputs, or all, in order, as NumPy arrays. Inputs that nothing reads need not be given."""
        names = list(output_names) if output_names else None
        feeds = {name: _array_of(value) for name, value in input_feed.items()}
        self._shapes = {name: tuple(getattr(value, "shape", ())) for name, value in feeds.items()}
        running: ContextManager[None] = contextlib.nullcontext() if run_options is None else run_options._run(self)
        with running:
            if self._profile is None:
                return self._session_for(feeds).run(names, feeds, self._progress, None)
            launches: list[Any] = []
            begin = time.monotonic_ns()
            results = self._session_for(feeds).run(names, feeds, self._profile.listener(self._progress), launches)
            self._profile.run(begin, launches)
            return results

    def profile(self, input_feed: Mapping[str, Any], runs: int = 10) -> list[Launch]:
        """How long each launch took: the median of so many runs, after one that warms. The launches of a profiled run wait for each
        other. A session that overwrites inputs (`donate`) runs once, so that it does so once."""
        feeds = {name: _array_of(value) for name, value in input_feed.items()}
        session = self._session_for(feeds)
        if self._overwrites:
            runs = 1
        elif isinstance(runs, bool) or not hasattr(runs, "__index__") or runs < 1:
            _heddle.raise_option("runs", "a number from 1 on", repr(runs))
        else:
            session.run(None, feeds, self._progress, None)
        profiled: list[list[Any]] = []
        for _ in range(runs):
            launches: list[Any] = []
            session.run(None, feeds, self._progress, launches)
            profiled.append(launches)
        import statistics  # few programs profile, and this module takes megabytes

        return [Launch(name, kernel, layout, statistics.median(launches[i][4] for launches in profiled), runs)
                for i, (name, kernel, layout, _, _) in enumerate(profiled[0])]

    def memory_bytes(self) -> int:
        """What the programs that are kept for shapes have now: code, plans, packed weights. What they share counts once."""
        return sum({block: size for session in self._sessions() for block, size in session.memory().items()}.values())

    def _sessions(self) -> list[_heddle.Session]:
        return [self._session]

    def _session_for(self, feeds: Mapping[str, Any]) -> _heddle.Session:
        """That whose inputs these are."""
        return self._session

    def _cut(self, cuts: list[str], threads: int, keep: dict[str, str], machines: _heddle.Machines | None = None) -> None:
        _heddle.shard(self._session, cuts, machines, threads, keep)
        _pickle.forget(self)
        self._cuts = (cuts, threads, keep)
        self._is_on_machines = machines is not None

    def compare(self, input_feed: Mapping[str, Any], against: Any = "reference", *, work: float = 1e13,
                threads: int = 0) -> Comparison:
        """What `heddle compare` does. Against `"reference"`: each tensor that kernels compute, beside the interpreter, within its
        bound on rounding. Against `"unfused"`: beside the same without fusion. Against a list of arrays, or another session with
        a `run`: the outputs, within the tolerances of docs/equality.md. `work` limits what is computed, the interpreter's a
        hundredth of it."""
        feeds = {name: _array_of(value) for name, value in input_feed.items()}
        if isinstance(against, str):
            if against not in ("reference", "unfused"):
                _heddle.raise_option("against", "'reference', 'unfused', arrays, or another session", repr(against))
            return Comparison(*self._session_for(feeds).compare(feeds, against == "unfused", work, threads, self._progress))
        names = [port.name for port in self._session.outputs]
        expected = against.run(names, feeds) if hasattr(against, "run") else list(against)
        return Comparison(*self._session.compare_outputs(self.run(names, feeds), expected))

    def cancel(self) -> None:
        """From another thread: a `run` that is compiling now raises `Error` (support.cancelled) within some milliseconds.
        The programs that are there stay; the next run compiles anew."""
        for session in self._sessions():
            session.cancel()


class Comparison:
    """Whether results are `equal`, which is also its truth; `str` says so as the command line does, `facts` has the figures."""

    def __init__(self, equal: bool, text: str, facts: str) -> None:
        self.equal = equal
        self.facts: dict[str, Any] = json.loads(facts)
        self._text = text

    def __bool__(self) -> bool:
        return self.equal

    def __str__(self) -> str:
        return self._text.rstrip("\n")

    def __repr__(self) -> str:
        return f"Comparison(equal={self.equal}, with={self.facts['with']!r})"


@dataclasses.dataclass(frozen=True)
class Launch:
    """One launch of a profiled run."""

    name: str  # the tensor that it writes
    kernel: int  # launches with the same number share code
    layout: bool  # it only puts a tensor into another layout
    microseconds: float  # the median
    runs: int = 1  # of so many


def _cut_again(make: Callable[..., Session], arguments: tuple[Any, ...], cuts: tuple[Any, ...]) -> Session:
    session = make(*arguments)
    session._cut(*cuts)
    return session


def _shape_text(shape: list[int | str | None] | None) -> str:
    return "" if shape is None else "[" + ", ".join("?" if extent is None else str(extent) for extent in shape) + "]"


@without_absent
class InferenceSession(Session):
    """An ONNX model, from a file or from bytes, used as ONNX Runtime's.

    `threads` (or `sess_options.intra_op_num_threads`) is their number, 0 for all cores. `library` has the operators, by
    default the shipped ones; a file or folder of templates is one, too. `rules` are rewrite rules that are applied first, as `heddle run --rule` takes them.
    `program_cache_bytes` limits what programs for other shapes than the last one keep (docs/memory.md). Providers other than
    the CPU's give a warning. `progress` is told how far compiling is.
    """

    _session: _heddle.ModelSession

    def __init__(self, path_or_bytes: str | os.PathLike[str] | bytes | bytearray | memoryview,
                 sess_options: SessionOptions | None = None, providers: Iterable[Any] | None = None,
                 provider_options: Any = None, *, threads: int = 0,
                 library: Library | str | os.PathLike[str] | None = None,
                 rules: Iterable[str] = (), program_cache_bytes: int | None = None, progress: Progress | None = None,
                 **others: Any) -> None:
        others.pop("enable_fallback", None)  # there is nothing to fall back to
        for name in others:
            import difflib

            near = difflib.get_close_matches(name, _OPTIONS, 1)
            _heddle.raise_not_there(f"InferenceSession(..., {name})", f"did you mean {near[0]}?" if near else _NO_OPTIONS)
        threads = checked_threads(threads)
        options = SessionOptions() if sess_options is None else sess_options
        check_providers(providers or [name for name, _ in options._providers], provider_options)
        if not threads:
            threads = options.intra_op_num_threads if options.use_per_session_threads else global_threads()
        path, content = "model", None
        if isinstance(path_or_bytes, (bytes, bytearray, memoryview)):
            content = bytes(path_or_bytes)
        else:
            path = os.fspath(path_or_bytes)
        profile = Profile(options.profile_file_prefix) if options.enable_profiling else None
        library, rules = library_of(library), list(rules)
        super().__init__(_heddle.model_session(path, content, library._library, threads, options._dimensions, rules), progress)
        self._others: dict[tuple[str, ...], _heddle.ModelSession] = {}
        self._initializers = {port.name: port for port in self._session.initializers()}
        self._given_initializers: dict[tuple[str, ...], _heddle.ModelSession] = {}
        if program_cache_bytes is not None:
            self._session.set_program_cache_bytes(program_cache_bytes)
        self._options = options
        self._of = (copy.deepcopy(options), threads, library, rules, program_cache_bytes)
        self._files = None if content is not None else _pickle.Files([path, *self._session.data_files()])
        self._profile = profile
        self._profiling_start = profile.start_ns if profile else 0
        if profile:
            profile.add("Session", "model_loading", profile.start_ns / 1e3, (time.monotonic_ns() - profile.start_ns) / 1e3)

    def _made_of(self) -> _pickle.Recipe:
        if type(self) is not InferenceSession:
            _heddle.raise_pickle(f"a {type(self).__name__}", "it is of a class of yours", "give the class a __reduce__")
        if self._files is None:
            content = self._session.content()
            digest = _pickle.digest_of_bytes(content)
            return _session_again, (content, None, *self._of), (digest, *self._of)
        return _session_again, (self._files.paths, digests := self._files.digests(), *self._of), (self._files.paths, digests, *self._of)

    def get_session_options(self) -> SessionOptions:
        return self._options

    def get_modelmeta(self) -> ModelMetadata:
        return ModelMetadata(self._session.metadata())

    def get_overridable_initializers(self) -> list[NodeArg]:
        """The model's inputs that have a value already: a run may give them, too. Each choice of them is compiled by itself."""
        return [NodeArg(port) for port in self._initializers.values()]

    def get_providers(self) -> list[str]:
        return get_available_providers()

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        return {name: {} for name in get_available_providers()}

    def set_providers(self, providers: Iterable[Any] | None = None, provider_options: Any = None) -> None:
        """Warns, as the constructor, if the CPU's is not among them."""
        check_providers(providers, provider_options)

    def enable_fallback(self) -> None:
        """There is nothing to fall back to."""

    def disable_fallback(self) -> None:
        """There is nothing to fall back to."""

    def svg(self, title: str = "model", *, fused: bool = False, unfold: bool = False, **dimensions: int) -> str:
        """A picture of the model's operations, or, fused, of the launches that they become. Unfolded, what repeats is drawn as
        often as it is there. Open dimensions have the sizes that are given, or those of the last run."""
        sizes = {extent: given for port in self._session.inputs
                 for extent, given in zip(port.shape or [], self._shapes.get(port.name, ())) if isinstance(extent, str)}
        return self._session.svg(title, {**sizes, **dimensions}, fused, unfold)

    def _repr_svg_(self) -> str | None:
        try:
            return self.svg()
        except Error:  # sizes or values are not known: then there is the text alone
            return None

    @property
    def weights(self) -> dict[str, Any]:
        """The model's own, of float types, by their names: initializers, and constants that nodes hold. New arrays each time."""
        return self._session.weights()

    def call(self, *inputs: Any, weights: Mapping[str, Any] | None = None, **named: Any) -> Any:
        """The model as a function, within others and of arrays: its inputs by place or by name; one result, or a tuple. `weights`
        stand in place of those of the same names. Where there is a tensor of a graph among these, it is applied there, so that
        `heddle.grad` of what calls it is with respect to inputs and weights. There, what decides a shape or a branch must be an
        array that is no argument of the function that is compiled."""
        given = dict(weights or {})
        graph = graph_of((inputs, named, given))
        if graph is not None:
            return graph.call(self, *inputs, weights=given, **named)
        names = [port.name for port in self._session.inputs]
        if len(inputs) > len(names) or set(names[:len(inputs)]) & named.keys():
            _heddle.raise_option("inputs", f"each of {', '.join(names)} once", f"{len(inputs)} by place, and {', '.join(named)}")
        feeds = {**dict(zip(names, inputs)), **named, **given}
        results = self._with_weights(tuple(sorted(given))).run(None, feeds, self._progress, None)
        return results[0] if len(results) == 1 else tuple(results)

    def _sessions(self) -> list[_heddle.Session]:
        return [self._session, *self._others.values(), *self._given_initializers.values()]

    def _session_for(self, feeds: Mapping[str, Any]) -> _heddle.ModelSession:
        names = tuple(sorted(self._initializers.keys() & feeds.keys()))
        if not names:
            return self._session
        if names not in self._given_initializers:
            self._given_initializers[names] = self._session.with_initializers(list(names))
        return self._given_initializers[names]

    def _with_weights(self, names: tuple[str, ...]) -> _heddle.ModelSession:
        """The session whose inputs these weights are, too."""
        if not names:
            return self._session
        if names not in self._others:
            self._others[names] = self._session.with_weights(list(names))
        return self._others[names]

    @property
    def rewrites(self) -> list[tuple[str, str]]:
        """What `rules` did to the program that was compiled last: each step's rule, and the tensor that it was applied at."""
        return self._session.rewrites()

    def end_profiling(self) -> str:
        """Writes the profile that `enable_profiling` asked for, in Chrome's trace format: the file's name, or "" if there is
        none. Runs are no longer timed."""
        profile, self._profile = self._profile, None
        return profile.write() if profile else ""

    def get_profiling_start_time_ns(self) -> int:
        """By the clock of `time.monotonic_ns`; 0 if nothing was profiled."""
        return self._profiling_start

    def io_binding(self) -> IOBinding:
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None) -> None:
        """The outputs that are bound, which `iobinding.get_outputs()` has then."""
        iobinding._run(self, run_options)

    def run_with_ort_values(self, output_names: Sequence[str] | None, input_dict_ort_values: Mapping[str, OrtValue],
                            run_options: RunOptions | None = None) -> list[OrtValue]:
        return [OrtValue._of_result(array) for array in self.run(output_names, input_dict_ort_values, run_options)]

    def run_async(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any],
                  callback: Callable[[list[Any], Any, str], None], user_data: Any,
                  run_options: RunOptions | None = None) -> None:
        """Runs in a thread of its own, which calls `callback(results, user_data, error)` at the end: `error` is empty, or says
        what was refused."""
        def run() -> None:
            try:
                results, error = self.run(output_names, input_feed, run_options), ""
            except Exception as refused:  # handed on: the caller is elsewhere
                results, error = [], str(refused)
            callback(results, user_data, error)
        threading.Thread(target=run, name="heddle run_async").start()

    def create_ortvalue_from_shape_and_type(self, shape: Sequence[int], element_type: Any) -> OrtValue:
        return OrtValue.ortvalue_from_shape_and_type(shape, element_type)


def _session_again(model: bytes | list[str], digests: list[str] | None, options: SessionOptions, threads: int, library: Library,
                   rules: list[str], program_cache_bytes: int | None) -> InferenceSession:
    """In another process: of the bytes, or of the same files."""
    if digests is not None:
        _pickle.check_files(model, digests)
    return InferenceSession(model if digests is None else model[0], options, threads=threads, library=library, rules=rules,
                            program_cache_bytes=program_cache_bytes)
