"""Functions of arrays, written as calls of operators: compiled, and differentiated."""
from __future__ import annotations

import functools
import inspect
import math
import sys
from typing import Any, Callable, Iterable, Sequence, overload

import numpy as np

from . import _heddle, _pickle
from ._graph import Graph, Tensor
from ._library import Library, Progress, checked_threads, graph_of, is_array, library_of
from ._session import Session
from ._tape import Tape, policy_of, tape_of
from ._tree import leaves_of, named_leaves, replaced, structure_of


class Function:
    """A Python function, compiled. Made by `function`, `grad`, `value_and_grad` and `vmap`.

    It is called with tensors of a graph once for each kind of arguments: so that graph is made of the operators that it calls.
    Arguments and results are arrays, also in dictionaries, lists and tuples. What is no array (a number of Python's, a text) is
    a part of the program: for each of its values there is another. Called with tensors of a graph, it is applied there.
    """

    def __init__(self, function: Callable[..., Any], library: Library | None = None, threads: int = 0,
                 progress: Progress | None = None, donate: Iterable[str] = (), of: tuple[Any, ...] | None = None) -> None:
        functools.update_wrapper(self, function, updated=())
        self._function = function
        self._library = library_of(_library_of(function, library))
        self._threads = checked_threads(threads)
        self._progress = progress
        self._donate = _donated_parameters(function, donate)
        self._programs: dict[Any, Any] = {}
        self._shard: Callable[[Session], Any] | None = None  # cuts it over places (_places.py)
        self._cuts: tuple[list[str], int] | None = None  # where these are threads
        self._of = of or (_function_again, function, self._library, self._threads, self._donate)

    def __reduce__(self) -> Any:
        if self._shard is not None and self._cuts is None:
            _heddle.raise_pickle(f"{self!r}", "it runs on several machines", "pickle the function that heddle.shard has not changed")
        name = getattr(self, "__qualname__", "")
        module = sys.modules.get(self.__module__)
        if self.__module__ != "__main__" and functools.reduce(lambda part, of: getattr(part, of, None), name.split("."), module) is self:
            return name  # a decorated one: its module has it there, too
        recipe: _pickle.Recipe = (self._of[0], self._of[1:], self._of[1:])
        if self._cuts is not None:
            recipe = (_cut_again, (*recipe[:2], *self._cuts), (*recipe[:2], *self._cuts))
        return _pickle.reduced(self, recipe)

    def __repr__(self) -> str:
        return f"Function({getattr(self._function, '__name__', repr(self._function))})"

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        arguments = self._bound(arguments, named)
        if graph_of(arguments) is not None:
            return self._function(*arguments)
        leaves = list(leaves_of(arguments))
        return self._program(arguments, leaves).run(leaves)

    def _bound(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """All arguments by place, in the order of the function's parameters."""
        if not named:
            return arguments
        signature = inspect.signature(self._function)
        try:
            bound = signature.bind(*arguments, **named)
        except TypeError as problem:
            _heddle.raise_option("arguments", f"those of {self!r}: {signature}", str(problem))
        bound.apply_defaults()
        if bound.kwargs:
            _heddle.raise_option(next(iter(bound.kwargs)), "a parameter that has a place too; functools.partial gives others", str(signature))
        return bound.args

    def session(self, *arguments: Any, **named: Any) -> Session:
        """What these arguments are computed by: to be profiled, compared, drawn."""
        arguments = self._bound(arguments, named)
        return self._program(arguments, list(leaves_of(arguments))).session

    def svg(self, *arguments: Any, fused: bool = False, **named: Any) -> str:
        """A picture of what these arguments are computed by: its operations, or the launches that they become."""
        arguments = self._bound(arguments, named)
        return self._program(arguments, list(leaves_of(arguments))).graph.svg(repr(self), fused=fused)

    def tape(self, *arguments: Any, keep: Any = "balanced") -> Tape:
        """What `vjp` of these arguments keeps. Nothing is compiled or run."""
        return self._passes(arguments, keep).tape

    def _program(self, arguments: tuple[Any, ...], leaves: list[Any]) -> _Program:
        return self._kept(arguments, leaves, (), lambda: _Program(self, arguments))

    def _passes(self, arguments: tuple[Any, ...], keep: Any) -> _Passes:
        policy = policy_of(keep)
        name = tuple(keep) if isinstance(keep, list) else keep
        return self._kept(arguments, list(leaves_of(arguments)), ("passes", name), lambda: _Passes(self, arguments, policy))

    def _kept(self, arguments: tuple[Any, ...], leaves: list[Any], what: Any, make: Callable[[], Any]) -> Any:
        key = (structure_of(arguments), tuple(_kind(leaf) for leaf in leaves), what)
        try:
            found = self._programs.get(key)
        except TypeError:
            unhashable = next(name for name, leaf in _named(self._function, arguments) if not _is_hashable(_kind(leaf)))
            _heddle.raise_option(unhashable, "an array, or a value that can be hashed", "one that cannot be hashed")
        if found is None:
            found = self._programs[key] = make()
        return found

    @functools.cached_property
    def _pull(self) -> Function:
        """From adjoints of the results, and the arguments, to adjoints of these."""
        def pull(adjoints: Any, *primals: Any) -> Any:
            graph = _graph_with((adjoints, primals))
            primals = _distinct(graph, primals)
            since = graph.operations
            results = self._function(*primals)
            if structure_of(results) != structure_of(adjoints):
                _heddle.raise_option("adjoints", f"in the form of the results: {results!r}", repr(adjoints))
            return _slopes(graph, list(leaves_of(results)), primals, range(len(primals)), list(leaves_of(adjoints)), since)
        return Function(pull, self._library, self._threads)

    @functools.cached_property
    def _push(self) -> Function:
        """From the arguments, and tangents of them, to the results and tangents of these."""
        def push(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
            graph = _graph_with((primals, tangents))
            if structure_of(primals) != structure_of(tangents):
                _heddle.raise_option("tangents", f"in the form of the arguments: {primals!r}", repr(tangents))
            primals = _distinct(graph, primals)
            since = graph.operations
            results = _distinct(graph, self._function(*primals))
            moved = [pair for pair in zip(leaves_of(primals), leaves_of(tangents)) if _is_smooth(pair[0])]
            smooth = [leaf for leaf in leaves_of(results) if _is_smooth(leaf)]
            of, by = [primal for primal, _ in moved], [tangent for _, tangent in moved]
            changes = iter(graph.tangents(smooth, of, by, since=since))
            return results, replaced(results, lambda leaf: next(changes) if _is_smooth(leaf) else None)
        return Function(push, self._library, self._threads)


def _function_again(of: Callable[..., Any], library: Library, threads: int, donate: list[str]) -> Function:
    return Function(of, library, threads, None, donate)


def _derived_again(make: Callable[..., Function], of: Callable[..., Any], place: Any, named: dict[str, Any]) -> Function:
    return make(of, place, **named)


def _cut_again(make: Callable[..., Function], arguments: tuple[Any, ...], cuts: list[str], threads: int) -> Function:
    from ._places import shard  # which knows functions
    return shard(make(*arguments), cuts, threads=threads)


class _Program:
    """A function, for one kind of arguments."""

    def __init__(self, function: Function, arguments: tuple[Any, ...]) -> None:
        graph = self.graph = Graph(function._library)
        named = _named(function._function, arguments)
        self.inputs = [name if is_array(leaf) else None for name, leaf in named]  # of the session; None: part of the program
        self.result = function._function(*_tensors(graph, self.inputs, arguments))
        results = [leaf for leaf in leaves_of(self.result) if isinstance(leaf, Tensor)]
        if not results:
            _heddle.raise_option("the function's result", "what operators make of its arrays", repr(self.result))
        donated = [name for (name, _), given in zip(named, self.inputs) if given is not None and _is_part(name, function._donate)]
        self.session = graph.compile(results, threads=function._threads, progress=function._progress, donate=donated)
        if function._shard is not None:
            function._shard(self.session)

    def run(self, leaves: list[Any]) -> Any:
        feeds = {name: leaf for name, leaf in zip(self.inputs, leaves) if name is not None}
        results = iter(self.session.run(None, feeds))
        return replaced(self.result, lambda leaf: next(results) if isinstance(leaf, Tensor) else leaf)


class _Passes:
    """A function and its adjoints, as two programs with a tape between them, for one kind of arguments."""

    def __init__(self, function: Function, arguments: tuple[Any, ...], policy: tuple[str, Any]) -> None:
        graph = Graph(function._library)
        named = _named(function._function, arguments)
        self.inputs = [name if is_array(leaf) else None for name, leaf in named]
        primals = _tensors(graph, self.inputs, arguments)
        _, self.result = _distinct(graph, (primals, function._function(*primals)))
        results = [leaf._tensor for leaf in leaves_of(self.result) if isinstance(leaf, Tensor)]
        self.wanted = [_is_smooth(leaf) for leaf in leaves_of(primals)]
        wanted = [leaf._tensor for leaf in leaves_of(primals) if _is_smooth(leaf)]
        if not wanted or not results:
            _heddle.raise_option("arguments", "arrays of a float type among them, of which results are made", repr(arguments))
        forward, reverse, tape = graph._graph.split(results, wanted, *policy, function._threads)
        self.sessions = Session(forward, function._progress), Session(reverse, function._progress)
        self.tape = tape_of(tape)

    def forward(self, arguments: tuple[Any, ...]) -> tuple[Any, list[Any]]:
        """Results, and the arrays of the tape."""
        feeds = {name: leaf for name, leaf in zip(self.inputs, leaves_of(arguments)) if name is not None}
        arrays = self.sessions[0].run(None, feeds)
        made = iter(arrays)
        results = replaced(self.result, lambda leaf: next(made) if isinstance(leaf, Tensor) else leaf)
        return results, list(made)

    def reverse(self, arguments: tuple[Any, ...], results: Any, kept: list[Any], adjoints: Any) -> Any:
        """Adjoints of the arguments; None for what is not of a float type."""
        if structure_of(results) != structure_of(adjoints):
            _heddle.raise_option("adjoints", f"in the form of the results: {self.result!r}", repr(adjoints))
        given = [leaf for name, leaf in zip(self.inputs, leaves_of(arguments)) if name is not None]
        tensors = list(leaves_of(self.result))
        given += [leaf for tensor, leaf in zip(tensors, leaves_of(results)) if isinstance(tensor, Tensor)]
        given += kept
        given += [leaf for tensor, leaf in zip(tensors, leaves_of(adjoints)) if _is_smooth(tensor)]
        names = [port.name for port in self.sessions[1].get_inputs()]
        slopes = iter(self.sessions[1].run(None, dict(zip(names, given))))
        wanted = iter(self.wanted)
        return replaced(arguments, lambda leaf: next(slopes) if next(wanted) else None)


def _tensors(graph: Graph, names: list[str | None], arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments with inputs of the graph for arrays, of these names."""
    given = iter(names)

    def tensor(leaf: Any) -> Any:
        name = next(given)
        return leaf if name is None else graph.tensor(name, *_kind(leaf))
    return replaced(arguments, tensor)


def _library_of(function: Callable[..., Any], library: Library | None) -> Library | None:
    return library or getattr(function, "_library", None)


def _kind(leaf: Any) -> Any:
    if not is_array(leaf):
        return (type(leaf), leaf)
    array = leaf if hasattr(leaf, "dtype") and hasattr(leaf, "shape") else np.asarray(leaf)
    return (_heddle.dtype_name(array.dtype), tuple(array.shape))


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _named(function: Callable[..., Any], arguments: Sequence[Any]) -> list[tuple[str, Any]]:
    """The leaves of the arguments, by the names of the function's parameters."""
    try:
        given = [name for name, parameter in inspect.signature(function).parameters.items()
                 if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)]
    except (TypeError, ValueError):  # written in C
        given = []
    names = given + [f"argument{i}" for i in range(len(given), len(arguments))]
    return [leaf for name, argument in zip(names, arguments) for leaf in named_leaves(argument, name)]


def _donated_parameters(function: Callable[..., Any], donate: Iterable[str]) -> list[str]:
    names = [donate] if isinstance(donate, str) else list(donate)
    known = list(inspect.signature(function).parameters) if names else []
    for name in names:
        if name not in known:
            _heddle.raise_option("donate", f"names of parameters: {', '.join(known)}", repr(name))
    return names


def _is_part(name: str, parameters: Sequence[str]) -> bool:
    """Of a leaf's name: it is of one of these parameters."""
    return name.split(".")[0] in parameters


def _graph_with(arguments: tuple[Any, ...]) -> Graph:
    graph = graph_of(arguments)
    if graph is None:
        _heddle.raise_option("arguments", "arrays of a float type among them, such as np.float32(1)", repr(arguments))
    return graph


def _distinct(graph: Graph, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """With a tensor of its own for each array, so that each has its own gradient. Integers stay constants: they may decide shapes."""
    seen: set[str] = set()

    def own(leaf: Any) -> Any:
        if not isinstance(leaf, Tensor):
            return own(graph.constant("constant", leaf)) if is_array(leaf) else leaf
        is_new = leaf.name not in seen
        seen.add(leaf.name)
        return leaf if is_new and not (leaf.is_constant and _is_smooth(leaf)) else graph.held(leaf)
    return replaced(arguments, own)


def _is_smooth(leaf: Any) -> bool:
    return isinstance(leaf, Tensor) and not leaf.dtype.startswith(("int", "uint", "bool"))


def _slopes(graph: Graph, results: list[Any], arguments: tuple[Any, ...], argument: int | Sequence[int], adjoints: list[Any],
            since: int) -> Any:
    """In the form of the arguments; None for what is not of a float type."""
    places = [argument] if isinstance(argument, int) else list(argument)
    if not all(0 <= place < len(arguments) for place in places):
        _heddle.raise_option("argument", f"the place of one of {len(arguments)} arguments, from 0 on", repr(argument))
    chosen = tuple(arguments[place] for place in places)

    wanted = [leaf for leaf in leaves_of(chosen) if _is_smooth(leaf)]
    if not wanted:
        _heddle.raise_option("argument", "one with arrays of a float type", repr(chosen))
    smooth = [result for result in results if _is_smooth(result)]
    adjoints = [adjoint for result, adjoint in zip(results, adjoints) if _is_smooth(result)]
    slopes = iter(graph.gradient(smooth, wanted, adjoints, since=since))
    answer = replaced(chosen, lambda leaf: next(slopes) if _is_smooth(leaf) else None)
    return answer[0] if isinstance(argument, int) else answer


@overload
def function(of: Callable[..., Any], *, library: Library | None = None, threads: int = 0, progress: Progress | None = None,
             donate: Iterable[str] = ()) -> Function: ...


@overload
def function(*, library: Library | None = None, threads: int = 0, progress: Progress | None = None,
             donate: Iterable[str] = ()) -> Callable[[Callable[..., Any]], Function]: ...


def function(of: Callable[..., Any] | None = None, *, library: Library | None = None, threads: int = 0,
             progress: Progress | None = None, donate: Iterable[str] = ()) -> Any:
    """`of`, compiled for each kind of arguments when they first come: a `Function`. Also a decorator, with and without options.

    `donate` names parameters. A call overwrites the arrays of their arguments, each by a result of the same shape and dtype, which
    is this very array: the first result that an operator makes of the array, or else the first that is left. So a step of training
    updates weights where they are. Where the function is called within another one, it is this one that says what is donated."""
    if of is None:
        return functools.partial(function, library=library, threads=threads, progress=progress, donate=donate)
    return Function(of, library, threads, progress, donate)


def value_and_grad(of: Callable[..., Any], argument: int | Sequence[int] = 0, *, has_aux: bool = False,
                   library: Library | None = None, threads: int = 0) -> Function:
    """The function of the same arguments whose results are that of `of`, a single number, and its gradient with respect to an
    argument, or to several as a tuple: in the form of the argument, arrays for its arrays of a float type. Keep it: its programs
    are its own. With `has_aux`, `of` gives a pair, the number and anything else, which is handed on: the results are this pair and the
    gradient."""
    @functools.wraps(of, updated=())
    def both(*arguments: Any) -> Any:
        graph = _graph_with(arguments)
        arguments = _distinct(graph, arguments)
        since = graph.operations
        results = of(*arguments)
        if has_aux and not (isinstance(results, tuple) and len(results) == 2):
            _heddle.raise_option("the function's result", "a pair: a single number, and what is handed on", repr(results))
        value = results[0] if has_aux else results
        if not isinstance(value, Tensor) or math.prod(value.shape) != 1:
            _heddle.raise_option("the function's result", "a single number of a float type, such as a loss", repr(value))
        return results, _slopes(graph, [value], arguments, argument, [], since)
    return Function(both, _library_of(of, library), threads,
                    of=(_derived_again, value_and_grad, of, argument, dict(has_aux=has_aux, library=library, threads=threads)))


def grad(of: Callable[..., Any], argument: int | Sequence[int] = 0, *, has_aux: bool = False, library: Library | None = None,
         threads: int = 0) -> Function:
    """As `value_and_grad`, the gradient alone; with `has_aux` a pair, the gradient and what is handed on."""
    both = value_and_grad(of, argument, has_aux=has_aux, library=library)

    @functools.wraps(of, updated=())
    def slope(*arguments: Any) -> Any:
        _graph_with(arguments)  # else `both` would compile what it is asked for while this is compiled
        results, slopes = both(*arguments)
        return (slopes, results[1]) if has_aux else slopes
    return Function(slope, both._library, threads,
                    of=(_derived_again, grad, of, argument, dict(has_aux=has_aux, library=library, threads=threads)))


def vjp(of: Callable[..., Any], *arguments: Any, keep: Any = "balanced", library: Library | None = None,
        threads: int = 0) -> tuple[Any, Callable[[Any], Any]]:
    """The results of `of`, and a function from adjoints of the results, in their form, to those of the arguments, as a tuple.

    That function reads the arguments and results, which must not change until it is called, and what `keep` says: "balanced",
    what takes more to work out again than to keep; "all" that adjoints ask for; "nothing"; the "fewest" bytes; a number of bytes
    at most; "checkpoints" of scans, or `Checkpoints`; what matches a list of patterns of names; or a function of a `Value`.
    `Function.tape` says what this is. Programs are kept where `of` is a `function`."""
    compiled = of if isinstance(of, Function) else Function(of, library, threads)
    if graph_of(arguments) is not None:
        return compiled(*arguments), lambda adjoints: compiled._pull(adjoints, *arguments)
    program = compiled._passes(arguments, keep)
    results, kept = program.forward(arguments)

    def pull(adjoints: Any) -> Any:
        if graph_of((adjoints,)) is not None:
            return compiled._pull(adjoints, *arguments)
        return program.reverse(arguments, results, kept, adjoints)
    return results, pull


def jvp(of: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...], *, library: Library | None = None,
        threads: int = 0) -> tuple[Any, Any]:
    """The results of `of` for the arguments `primals`, and how they change when these change as `tangents` say, which have their
    form; None for what is not of a float type. Programs are kept where `of` is a `function`."""
    compiled = of if isinstance(of, Function) else Function(of, library, threads)
    return compiled._push(primals, tangents)


def vmap(of: Callable[..., Any], in_axes: int | None | Sequence[int | None] = 0, *, library: Library | None = None,
         threads: int = 0) -> Function:
    """The function of batches: where `in_axes` says 0, the arrays of an argument have one more first axis, and where it says None
    they are as `of` takes them. Its results have the axis. `of` is not called in a loop: its operators get one more axis."""
    @functools.wraps(of, updated=())
    def mapped(*arguments: Any) -> Any:
        graph = _graph_with(arguments)
        axes = [in_axes] * len(arguments) if in_axes is None or isinstance(in_axes, int) else list(in_axes)
        if len(axes) != len(arguments) or not all(axis in (0, None) for axis in axes):
            _heddle.raise_option("in_axes", f"0 or None, or one of them for each of {len(arguments)} arguments", repr(in_axes))
        batches: list[Tensor] = []
        rows: list[Tensor] = []

        def row(leaf: Any) -> Any:
            if not is_array(leaf) and not isinstance(leaf, Tensor):
                return leaf
            batch = leaf if isinstance(leaf, Tensor) else graph.constant("constant", leaf)
            if not batch.shape or batch.shape[0] != (batches[0].shape[0] if batches else batch.shape[0]):
                _heddle.raise_option("a batch", f"arrays whose first axes are alike: {batches!r}", repr(batch))
            batches.append(batch)
            rows.append(graph.held(graph.call("gather", batch, np.int64(0), axis=0)))
            return rows[-1]
        arguments = tuple(argument if axis is None else replaced(argument, row) for argument, axis in zip(arguments, axes))
        if not batches:
            _heddle.raise_option("in_axes", "0 for an argument with arrays", repr(in_axes))
        since = graph.operations
        results = of(*arguments)
        tensors = [leaf for leaf in leaves_of(results) if isinstance(leaf, Tensor)]
        made = iter(zip(tensors, graph.batched(tensors, rows, batches, since=since)))

        def whole(leaf: Any) -> Any:
            if not isinstance(leaf, Tensor):
                return leaf
            single, batch = next(made)
            is_longer = len(batch.shape) > len(single.shape)
            return batch if is_longer else graph.call("expand", batch, shape=[batches[0].shape[0], *single.shape])
        return replaced(results, whole)
    return Function(mapped, _library_of(of, library), threads,
                    of=(_derived_again, vmap, of, in_axes, dict(library=library, threads=threads)))
