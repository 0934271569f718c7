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


POLICIES = {"balanced": "balanced", "all": "save_all", "nothing": "recompute_all", "fewest": "fewest_bytes", "checkpoints": "checkpoints 0"}


def policy_of(keep: Any) -> tuple[str, Callable[..., bool] | None]:
    """The policy's text, as the module below reads it, and what says of each value whether it is kept."""
    if isinstance(keep, str) and keep in POLICIES:
        return POLICIES[keep], None
    if isinstance(keep, int) and not isinstance(keep, bool) and keep >= 0:
        return f"budget {keep}", None
    if isinstance(keep, Checkpoints) and isinstance(keep.every, int) and not isinstance(keep.every, bool) and keep.every >= 0:
        return f"checkpoints {keep.every}", None
    if callable(keep):
        return "", lambda name, dtype, shape, operations: bool(keep(Value(name, dtype, tuple(shape), operations)))
    if isinstance(keep, (list, tuple)) and all(isinstance(pattern, str) for pattern in keep):
        return "", lambda name, *_: any(fnmatch.fnmatchcase(name, pattern) for pattern in keep)
    _heddle.raise_option("keep", "'balanced', 'all', 'nothing', 'fewest', 'checkpoints', heddle.Checkpoints(every), a number of bytes, a "
                         "list of patterns of names, or a function of a value", repr(keep))


def tape_of(text: str) -> Tape:
    """Of what the module below says."""
    facts = json.loads(text)
    return Tape(tuple(TapeEntry(**{**entry, "shape": tuple(entry["shape"])}) for entry in facts["entries"]), facts["bytes"])
