"""Libraries of operators, and calls of them."""
from __future__ import annotations

import functools
import os
import pathlib
from typing import Any, Callable, Mapping, Sequence

from . import _heddle

#: Told how far a compile is: its stage (load, symbolic, fusion, plan, code, link, prepare), how many of how many of its units are
#: done, and the seconds since it began. It is called by the thread that runs; what it raises ends the compile.
Progress = Callable[[str, int, int, float], None]

FOLDER = pathlib.Path(__file__).parent


class Library:
    """Operators by name: those that come with Heddle, and yours. Made by `load_library` and `parse_library`."""

    def __init__(self, library: _heddle.Library, progress: Progress | None = None, of: Sequence[str] = ()) -> None:
        self._library = library
        self._progress = progress
        self._of = list(of)

    def __repr__(self) -> str:
        return f"Library({', '.join(['the shipped operators', *self._of])})"

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
    return _open(paths, named, {}, threads, progress)


def parse_library(text: str, *paths: str | os.PathLike[str], name: str = "text", threads: int = 0,
                  progress: Progress | None = None) -> Library:
    """The shipped operators, those of a text (a template file's), and those of files or folders. Operators of the text are also
    `name::operator`."""
    return _open(paths, {}, {name: text}, threads, progress)


def _open(paths: Sequence[str | os.PathLike[str]], named: Mapping[str, str | os.PathLike[str]], texts: Mapping[str, str],
          threads: int, progress: Progress | None) -> Library:
    files, folders = [os.fspath(path) for path in paths], {name: os.fspath(path) for name, path in named.items()}
    return Library(_heddle.Library(str(FOLDER / "operators"), files, folders, dict(texts), threads), progress,
                   [*files, *folders, *texts])


@functools.cache
def shipped_library() -> Library:
    return load_library()
