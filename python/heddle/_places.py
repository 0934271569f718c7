"""Programs over several places: threads of this process, or processes of a cluster (docs/machines.md)."""
from __future__ import annotations

import os
from typing import Any, Iterable, Mapping

from . import _heddle, _pickle
from ._functions import Function
from ._library import checked_threads
from ._session import InferenceSession, Session


SpreadArray = _heddle.SpreadArray
"""What a cut program has left where it is: an array whose parts lie at places. It has `shape`, `dtype`, `ndim`, and `parts`: the place
of each, its slices of the whole, and the array, or None where that is in another process. Given to a program on the same places it
costs nothing. `gather()` gives all of it as a NumPy array: in all processes, which must call it at the same point. `numpy.asarray` does
that where all parts are in this process, and else raises `heddle.Error`."""


class Machines:
    """The processes that run a program together, of which this is one: number `rank` of `size`.

    Each runs the same script: makes the same sessions, and runs them with the same inputs, in the same order. Each gets all
    outputs. Where one ends with an exception, the others get a `heddle.Error` that says which and why.
    """

    def __init__(self, machines: _heddle.Machines) -> None:
        self._machines = machines

    def __repr__(self) -> str:
        return f"Machines(rank={self.rank}, size={self.size})"

    @property
    def rank(self) -> int:
        return self._machines.rank

    @property
    def size(self) -> int:
        return self._machines.size

    def sent(self) -> list[tuple[int, int]]:
        """By rank: how many messages, and how many bytes, this process has sent there."""
        return self._machines.sent()

    def __enter__(self) -> Machines:
        return self

    def __exit__(self, kind: Any, value: BaseException | None, trace: Any) -> None:
        if value is not None:
            self._machines.fail(f"{type(value).__name__}: {value}")


_launched: Machines | None = None


def machines(kind: str = "mpi", *, hosts: str | os.PathLike[str] | None = None, rank: int = 0,
             timeout: float = 60) -> Machines:
    """The processes that `mpirun` or `srun` has started: `machines()`, or `machines("/path/of/libheddle_mpi.so")`. Or those of
    a file of addresses, one a line, this one being line `rank`: `machines(hosts="hosts.txt", rank=1)`.

    Without a launcher this process is the only one, so that a script needs no other form then. Who says nothing for `timeout` seconds is given up. MPI starts once: later calls give the same object.
    """
    global _launched
    if hosts is not None:
        return Machines(_heddle.Machines.connect(os.fspath(hosts), rank, "", timeout))
    if _launched is None:
        _launched = Machines(_heddle.Machines.connect("", 0, "" if kind == "mpi" else kind, timeout))
    return _launched


def shard(model: Any, cuts: str | int | Iterable[str] = (), *, machines: Machines | None = None, threads: int = 0,
          keep: Mapping[str, str] | None = None, **options: Any) -> Any:
    """A session whose programs are cut over places: threads of this process, or `machines`.

    `model` is a session or a function (`heddle.function`, `grad`, `value_and_grad`), which is changed and returned, or what
    `InferenceSession` takes, with its `options`. `cuts` says
    how, as `heddle run --shard` does: "batch=2", "up.out_col=4" and "down.k=4", or a number of places; what is not said is
    chosen by cost. Without it there is a place for each process. A file of `heddle optimise -o` also says by which rules a model is rewritten
    first; a session that is there already must have them.

    What a run gives stays where it is if it is a function's donated argument (`function(..., donate=)`), or an output of `keep`, which
    says what input it is the next time: `keep={"present": "past"}`. Such results are `SpreadArray`s.
    """
    texts = [str(cuts)] if isinstance(cuts, (str, int)) else [str(text) for text in cuts]

    def cut(session: Session) -> None:
        session._cut(texts, checked_threads(threads), dict(keep or {}), machines._machines if machines else None)

    if isinstance(model, Function):
        if keep:
            _heddle.raise_option("keep", "nothing, for a function: what it donates stays where it is", repr(keep))
        _pickle.forget(model)
        model._shard, model._cuts = cut, (texts, threads) if machines is None else None
        model._programs.clear()
        return model
    if not isinstance(model, Session):
        options.setdefault("rules", _heddle.cut_rules(texts))
    session = model if isinstance(model, Session) else InferenceSession(model, threads=threads, **options)
    cut(session)
    return session
