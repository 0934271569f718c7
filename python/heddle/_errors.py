"""Errors as values: what heddle prints with --format json, as objects."""
from __future__ import annotations

import dataclasses
import json
from typing import Any


@dataclasses.dataclass(frozen=True)
class Place:
    """A place in a text: lines and columns count from one."""

    file: str
    line: int
    column: int


@dataclasses.dataclass(frozen=True)
class Context:
    """A second place that matters."""

    message: str
    place: Place | None


@dataclasses.dataclass(frozen=True)
class Diagnostic:
    """One thing that is wrong. Codes are listed in docs/diagnostics.yaml and do not change."""

    code: str
    summary: str  # one sentence
    message: str  # all of it, as the command line prints it
    place: Place | None
    expected: str
    found: str
    reason: str
    remedy: str
    params: dict[str, str]  # named values: input, operator, dimension ...
    contexts: list[Context]

    def __str__(self) -> str:
        return self.message.rstrip("\n")


def _place(entry: dict[str, Any]) -> Place | None:
    return Place(entry["file"], entry["line"], entry["column"]) if "file" in entry else None


def diagnostics_of(entries: list[dict[str, Any]]) -> list[Diagnostic]:
    """Of the list that --format json prints."""
    found = []
    for entry in entries:
        params = dict(entry["params"])
        said = {name: params.pop(name, "") for name in ("expected", "found", "reason", "remedy")}
        contexts = [Context(context["message"], _place(context)) for context in entry["contexts"]]
        found.append(Diagnostic(entry["type"], entry["summary"], entry["message"], _place(entry), **said, params=params,
                                contexts=contexts))
    return found


class Error(Exception):
    """What heddle refuses: all independent problems of one request.

    `str` is the text of the command line, `diagnostics` the same as objects, `json()` the same as `--format json`.
    """

    diagnostics: list[Diagnostic]

    def __init__(self, json_text: str) -> None:
        super().__init__(json_text)
        self._entries = json.loads(json_text)
        self.diagnostics = diagnostics_of(self._entries)

    def json(self) -> str:
        return json.dumps({"errors": self._entries}, indent=2)

    def __str__(self) -> str:
        return "\n".join(str(diagnostic) for diagnostic in self.diagnostics)
