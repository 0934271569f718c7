"""Sessions, functions and libraries in other processes: pickled is what they are made of (docs/python.md)."""
from __future__ import annotations

import collections
import os
import pickle
import sys
import threading
import weakref
from typing import Any, Callable

from . import _heddle
from ._errors import Error

#: What makes it, and of what; and what stands for these in the digest, where they are large.
Recipe = tuple[Callable[..., Any], tuple[Any, ...], Any]

_MOST_KEPT = 4  # so many that came last stay although nobody has them: between two tasks of an engine that is so

_lock = threading.RLock()  # recipes hold recipes
_live: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()
_came_last: collections.OrderedDict[str, Any] = collections.OrderedDict()


def reduced(thing: Any, recipe: Recipe) -> tuple[Any, ...]:
    """What `__reduce__` answers. Whoever reads it in a process where the same is there already gets that."""
    make, arguments, named = recipe
    digest = _digest(make, named)
    if digest is not None:
        with _lock:
            _live.setdefault(digest, thing)
    return _again, (digest, make, arguments)


def forget(thing: Any) -> None:
    """It has become something else than what was pickled."""
    with _lock:
        for known in (_live, _came_last):
            for digest in [digest for digest, other in known.items() if other is thing]:
                del known[digest]


def _again(digest: str | None, make: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    if digest is None:
        return make(*arguments)
    with _lock:
        thing = _live.get(digest)
        if thing is None:
            thing = _live[digest] = make(*arguments)
        _came_last[digest] = thing
        _came_last.move_to_end(digest)
        while len(_came_last) > _MOST_KEPT:
            _came_last.popitem(last=False)
        return thing


def _digest(make: Callable[..., Any], named: Any) -> str | None:
    """None: what it is made of has no bytes of its own here."""
    import hashlib  # few programs pickle, and this module takes megabytes

    engine = sys.modules.get("cloudpickle")  # which pickles functions that no module has
    try:
        return hashlib.sha256((engine or pickle).dumps((make, named))).hexdigest()
    except Error:
        raise
    except Exception:  # whatever a part of it raises
        return None


def digest_of_bytes(content: bytes) -> str:
    import hashlib

    return hashlib.sha256(content).hexdigest()


class Files:
    """The files of a model: pickled are their paths and digests, read is what has them."""

    def __init__(self, paths: list[str]) -> None:
        self.paths = [os.path.abspath(path) for path in paths]
        self._stamps = [_stamp(path) for path in self.paths]
        self._digests: list[str] | None = None

    def digests(self) -> list[str]:
        """Of what the session was made of. Code python.pickle: they have changed."""
        if self._digests is None:
            for path, stamp in zip(self.paths, self._stamps):
                if stamp is None or _stamp(path) != stamp:
                    _heddle.raise_pickle(f"the model '{self.paths[0]}'", f"'{path}' has changed since the session was made",
                                         "make the session anew, or of the model's bytes")
            self._digests = [_digest_of_file(path) for path in self.paths]
        return self._digests


def check_files(paths: list[str], digests: list[str]) -> None:
    """Code python.pickle: files are not what they were where they were pickled."""
    for path, digest in zip(paths, digests):
        try:
            reason = None if _digest_of_file(path) == digest else f"'{path}' is another file here"
        except OSError as problem:
            reason = f"'{path}' cannot be read: {problem.strerror}"
        if reason is not None:
            _heddle.raise_pickle(f"the model '{paths[0]}'", reason,
                                 "put the same files at the same paths of each machine, or make the session of the model's bytes")


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _digest_of_file(path: str) -> str:
    import hashlib

    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
