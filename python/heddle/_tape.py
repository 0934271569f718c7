"""What a function keeps for its adjoints."""
from __future__ import annotations

import dataclasses
import fnmatch
import json
from typing import Any, Callable

from . import _heddle


@dataclasses.dataclass(frozen=True)
class TapeEntry:
    """One array that is kept: where it lies in the tape, in bytes, and why it is there."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    bytes: int
    reason: str


@dataclasses.dataclass(frozen=True)
class Tape:
    """What is handed on from a function to its adjoints: known before anything is compiled."""

    entries: tuple[TapeEntry, ...]
    bytes: int

    def __str__(self) -> str:
        lines = [f"{entry.bytes:>12,} bytes at {entry.offset:>12,}  {entry.name}: {entry.dtype}{list(entry.shape)}, {entry.reason}"
                 for entry in self.entries]
        arrays = f"{len(self.entries)} array{'' if len(self.entries) == 1 else 's'}"
        return "\n".join([f"{self.bytes:,} bytes in {arrays}", *lines])


@dataclasses.dataclass(frozen=True)
class Value:
    """A value that could be kept; `operations`: about what it takes to work it out again of what it is made of."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    operations: int


@dataclasses.dataclass(frozen=True)
class Checkpoints:
    """Keep the states of a scan before each step whose number `every` divides (0: about the square root of the steps), and work out
    those between again; of all else keep what is "balanced"."""

    every: int = 0


def policy_of(keep: Any) -> tuple[str, int, Callable[..., bool] | None, int]:
    """Kind, bytes, function and steps (-1: none), as the module below takes them."""
    if isinstance(keep, str) and keep in ("balanced", "all", "nothing", "fewest"):
        return keep, 0, None, -1
    if isinstance(keep, int) and not isinstance(keep, bool) and keep >= 0:
        return "budget", keep, None, -1
    if isinstance(keep, str) and keep == "checkpoints":
        keep = Checkpoints()
    if isinstance(keep, Checkpoints) and isinstance(keep.every, int) and not isinstance(keep.every, bool) and keep.every >= 0:
        return "balanced", 0, None, keep.every
    if callable(keep):
        return "chosen", 0, lambda name, dtype, shape, operations: bool(keep(Value(name, dtype, tuple(shape), operations))), -1
    if isinstance(keep, (list, tuple)) and all(isinstance(pattern, str) for pattern in keep):
        return "chosen", 0, lambda name, *_: any(fnmatch.fnmatchcase(name, pattern) for pattern in keep), -1
    _heddle.raise_option("keep", "'balanced', 'all', 'nothing', 'fewest', 'checkpoints', heddle.Checkpoints(every), a number of bytes, a "
                         "list of patterns of names, or a function of a value", repr(keep))


def tape_of(text: str) -> Tape:
    """Of what the module below says."""
    facts = json.loads(text)
    return Tape(tuple(TapeEntry(**{**entry, "shape": tuple(entry["shape"])}) for entry in facts["entries"]), facts["bytes"])
