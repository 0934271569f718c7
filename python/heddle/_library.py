"""Libraries of operators, and calls of them."""
from __future__ import annotations

import dataclasses
import functools
import json
import os
import pathlib
from typing import Any, Callable, Mapping, Sequence

from . import _heddle, _pickle
from ._tree import leaves_of

#: Told how far a compile is: its stage (load, symbolic, fusion, plan, code, link, prepare), how many of how many of its units are
#: done, and the seconds since it began. It is called by the thread that runs; what it raises ends the compile.
Progress = Callable[[str, int, int, float], None]

FOLDER = pathlib.Path(__file__).parent


def is_array(value: Any) -> bool:
    """Whether it is what an input may be, apart from numbers and lists of them."""
    return any(hasattr(value, name) for name in ("__array__", "__array_interface__", "__dlpack__"))


def _type_text(value: Any) -> str:
    dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
    return type(value).__name__ if dtype is None or shape is None else f"an array, {dtype}{list(shape)}"


def graph_of(values: Any) -> Any:
    """The graph whose tensors are among the leaves; None where there are none."""
    tensors = (leaf for leaf in leaves_of(values) if isinstance(getattr(leaf, "_tensor", None), _heddle.Tensor))
    return next((tensor.graph for tensor in tensors), None)


@dataclasses.dataclass(frozen=True)
class _Parts:
    """What a library is made of beside the shipped operators."""

    paths: tuple[str, ...] = ()
    named: dict[str, str] = dataclasses.field(default_factory=dict)
    texts: dict[str, str] = dataclasses.field(default_factory=dict)
    threads: int = 0


class Library:
    """Operators by name: those that come with Heddle, and yours. Made by `load_library` and `parse_library`."""

    def __init__(self, library: _heddle.Library, progress: Progress | None = None, of: _Parts | None = None,
                 files: Mapping[str, str] | None = None) -> None:
        self._library = library
        self._progress = progress
        self._of = of or _Parts()
        self._files = library.files if files is None else files  # their texts, by the paths that were given

    def __repr__(self) -> str:
        return f"Library({', '.join(['the shipped operators', *self._of.paths, *self._of.named, *self._of.texts])})"

    def __reduce__(self) -> Any:
        if not (self._of.paths or self._of.named or self._of.texts) and not self._of.threads:
            return shipped_library, ()
        arguments = (self._of, self._files)
        return _pickle.reduced(self, (_open_again, arguments, arguments))

    def names(self) -> list[str]:
        """The shipped operators."""
        return self._library.names()

    def call(self, operator: str, /, *inputs: Any, **named: Any) -> Any:
        """Runs one operator: inputs by place or by name, a list for a variadic one; parameters by name.

        One array, or a tuple where the operator has several results. Compiled when the first arrays of a kind come. Where an
        input is a tensor of a graph, the operator is applied there, as by `Graph.call`.
        """
        graph = graph_of((inputs, named))
        if graph is None:
            return self._library.call(operator, inputs, named, self._progress)
        if graph.library._library.digest != self._library.digest:
            _heddle.raise_option("library", "the one of the graph, or of heddle.function(..., library=...)", repr(self))
        return graph.call(operator, *inputs, **named)

    def explain(self, operator: str, /, *arguments: str, gradient: bool = False, equations: bool = False,
                schedule: bool = False, source: bool = False, notations: bool = False, shards: Sequence[str] = (),
                one_round: bool = False, target: str | os.PathLike[str] = "") -> Explanation:
        """What `heddle explain` says of an operator: index, projections, body, cost, gradient, kernels. `arguments` are as there:
        `"x=float32[2, 3]"`, `"axis=1"`. The parts that are asked for follow: of the gradient, if that is asked for. `target` is what kernels are chosen
        for: a tag, a file or JSON, as of `--target`; by default this machine."""
        for argument in arguments:
            if not isinstance(argument, str):
                _heddle.raise_option("arguments", "texts: an input's type as 'x=float32[2, 3]', a parameter as 'axis=1'",
                                     _type_text(argument))
        options = dict(gradient=gradient, equations=equations, schedule=schedule, source=source, notations=notations,
                       shards=list(shards), one_round=one_round)
        return Explanation(self._library, operator, list(arguments), os.fspath(target) if target else "", options)

    def rewrite(self, program: str, inputs: Mapping[str, str], rules: Sequence[str] = (),
                steps: int | None = None) -> Rewritten:
        """A program of calls, such as `"y = softmax(x)"`, with its inputs' types, rewritten by rules (`"split_inner(chunk: 4)"`;
        by default all of your files): so many steps, or until none fits."""
        return Rewritten(*_heddle.rewrite(self._library, program, [f"{name}={type}" for name, type in inputs.items()],
                                          list(rules), steps))

    def cancel(self) -> None:
        """From another thread: a `call` that is compiling now raises `Error` (support.cancelled)."""
        self._library.cancel()


class Explanation:
    """What is said of an operator: `str` as the command line prints it, `facts` as its JSON, and a picture."""

    def __init__(self, library: _heddle.Library, operator: str, arguments: list[str], target: str,
                 options: dict[str, Any]) -> None:
        self._request = (library, operator, arguments, target)
        self._options = options
        self._explanation = self._make(picture=False)

    def _make(self, picture: bool) -> _heddle.Explanation:
        options = _heddle.ExplanationOptions()
        for name, value in {**self._options, "picture": picture}.items():
            setattr(options, name, value)
        return _heddle.explain(*self._request, options)

    def __str__(self) -> str:
        return self._explanation.text()

    def __repr__(self) -> str:
        return f"Explanation({', '.join([self._request[1], *self._request[2]])})"

    @property
    def facts(self) -> dict[str, Any]:
        return json.loads(self._explanation.json())

    def svg(self) -> str:
        """Of the operator, or of its shards; empty without arguments."""
        return self._make(picture=True).svg

    def _repr_svg_(self) -> str | None:
        return self.svg() or None


@dataclasses.dataclass(frozen=True)
class Rewritten:
    """A program before and after rules."""

    before: str
    after: str
    steps: list[str]  # the rule of each


def load_library(*paths: str | os.PathLike[str], threads: int = 0, progress: Progress | None = None,
                 **named: str | os.PathLike[str]) -> Library:
    """The shipped operators, and those of template files or folders of them.

    A file's operators are also `file::operator`; `load_library(mine="folder")` chooses that name.
    """
    return _open(paths, named, {}, threads, progress)


def parse_library(text: str, *paths: str | os.PathLike[str], name: str = "text", threads: int = 0,
                  progress: Progress | None = None) -> Library:
    """The shipped operators, those of a text (a template file's), and those of files or folders. Operators of the text are also
    `name::operator`."""
    return _open(paths, {}, {name: text}, threads, progress)


def _open(paths: Sequence[str | os.PathLike[str]], named: Mapping[str, str | os.PathLike[str]], texts: Mapping[str, str],
          threads: int, progress: Progress | None) -> Library:
    return _open_parts(_Parts(tuple(os.fspath(path) for path in paths), {name: os.fspath(path) for name, path in named.items()},
                              dict(texts), checked_threads(threads)), progress)


def _open_parts(parts: _Parts, progress: Progress | None = None) -> Library:
    return Library(_heddle.Library(str(FOLDER / "operators"), list(parts.paths), parts.named, parts.texts, parts.threads), progress, parts)


def _open_again(parts: _Parts, files: Mapping[str, str]) -> Library:
    """In another process: of the files where they are the same here, else of their texts, which hold as long as it opens."""
    if all(_has_text(path, text) for path, text in files.items()):
        same = _open_parts(parts)
        if same._library.files == files:
            return same
    import tempfile  # few programs get here, and these modules take megabytes

    with tempfile.TemporaryDirectory(prefix="heddle-") as folder:
        def inside(path: str) -> str:
            return folder + os.path.abspath(path)
        for path, text in files.items():
            os.makedirs(os.path.dirname(inside(path)), exist_ok=True)
            with open(inside(path), "w", encoding="utf-8", newline="") as file:
                file.write(text)
        opened = _open_parts(dataclasses.replace(parts, paths=tuple(inside(path) for path in parts.paths),
                                                 named={name: inside(path) for name, path in parts.named.items()}))
    return Library(opened._library, None, parts, files)


def _has_text(path: str, text: str) -> bool:
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read() == text
    except (OSError, ValueError):
        return False


@functools.cache
def shipped_library() -> Library:
    return load_library()


def library_of(library: Library | str | os.PathLike[str] | None) -> Library:
    """What an argument `library` names: a library, the file or folder of one, or the shipped one."""
    if library is None:
        return shipped_library()
    if isinstance(library, (str, os.PathLike)):
        return load_library(library)
    if not isinstance(library, Library):
        _heddle.raise_option("library", "a Library of heddle.load_library, or a file or folder of templates",
                             type(library).__name__)
    return library


def checked_threads(threads: Any) -> int:
    if isinstance(threads, bool) or not hasattr(threads, "__index__") or not 0 <= threads.__index__() <= 1024:
        _heddle.raise_option("threads", "a number from 0 (all cores) to 1024", repr(threads))
    return threads.__index__()
