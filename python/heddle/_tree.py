"""Values in dictionaries, lists and tuples, one in another: their leaves, in order."""
from __future__ import annotations

from typing import Any, Callable, Hashable, Iterator


def leaves_of(value: Any) -> Iterator[Any]:
    if not _is_branch(value):
        yield value
        return
    for _, part in _parts(value):
        yield from leaves_of(part)


def named_leaves(value: Any, name: str) -> list[tuple[str, Any]]:
    """The leaves with their names: `weights.0.bias`."""
    if not _is_branch(value):
        return [(name, value)]
    return [leaf for key, part in _parts(value) for leaf in named_leaves(part, f"{name}.{key}")]


def structure_of(value: Any) -> Hashable:
    """What is equal for values that differ in their leaves alone."""
    if not _is_branch(value):
        return None
    return (type(value), tuple((key, structure_of(part)) for key, part in _parts(value)))


def replaced(value: Any, by: Callable[[Any], Any]) -> Any:
    """The same, with other leaves; `by` is asked in their order."""
    if not _is_branch(value):
        return by(value)
    parts = [(key, replaced(part, by)) for key, part in _parts(value)]
    if isinstance(value, dict):
        return dict(parts)
    if hasattr(value, "_fields"):  # a named tuple
        return type(value)(*[part for _, part in parts])
    return type(value)(part for _, part in parts)


def _is_branch(value: Any) -> bool:
    return isinstance(value, (dict, list, tuple))


def _parts(value: Any) -> Iterator[tuple[Any, Any]]:
    return iter(value.items() if isinstance(value, dict) else enumerate(value))
