"""The times of a session's stages, runs and launches, as a file of Chrome's trace format (chrome://tracing, Perfetto)."""
from __future__ import annotations

import json
import os
import pathlib
import threading
import time
from typing import Any, Callable

_Launch = tuple[str, int, bool, float, float]  # name, kernel, layout, begin and duration in microseconds


class Profile:
    """Events since it was made, by the clock of `time.monotonic`, which the kernels' times are of too."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.start_ns = time.monotonic_ns()
        self._events: list[dict[str, Any]] = []

    def add(self, category: str, name: str, begin: float, duration: float, **arguments: Any) -> None:
        """`begin`: microseconds of the clock."""
        self._events.append({"cat": category, "name": name, "ph": "X", "pid": os.getpid(), "tid": threading.get_native_id(),
                             "ts": round(begin - self.start_ns / 1e3, 3), "dur": round(duration, 3), "args": arguments})

    def listener(self, also: Callable[[str, int, int, float], None] | None) -> Callable[[str, int, int, float], None]:
        """For `progress`: each stage becomes an event when it ends. `also` is told the same."""
        def told(stage: str, done: int, total: int, seconds: float) -> None:
            if done == total:
                self.add("Session", stage, time.monotonic_ns() / 1e3 - seconds * 1e6, seconds * 1e6, units=total)
            if also is not None:
                also(stage, done, total, seconds)
        return told

    def run(self, begin_ns: int, launches: list[_Launch]) -> None:
        self.add("Session", "model_run", begin_ns / 1e3, (time.monotonic_ns() - begin_ns) / 1e3)
        for name, kernel, layout, begin, duration in launches:
            self.add("Node", name, begin, duration, kernel=kernel, layout=layout)

    def write(self) -> str:
        """Into a new file, whose name is answered."""
        stem = self.prefix + time.strftime("_%Y-%m-%d_%H-%M-%S")
        number = 1
        while True:
            path = pathlib.Path(f"{stem}.json" if number == 1 else f"{stem}_{number}.json")
            try:
                with path.open("x") as file:
                    json.dump(sorted(self._events, key=lambda event: event["ts"]), file, indent=1)
                return str(path)
            except FileExistsError:
                number += 1
