"""Names of ONNX Runtime that are not there: whoever uses one is told so, and what to do instead."""
from __future__ import annotations

from typing import Any, NoReturn, TypeVar

from . import _heddle
from ._onnxruntime_names import NAMES

_Class = TypeVar("_Class", bound=type)


def refuse(owner: str, name: str) -> NoReturn:
    """Raises `heddle.Error` (python.not_there)."""
    _heddle.raise_not_there(name if owner == "onnxruntime" else f"{owner}.{name}", NAMES[owner][name].remark)
    raise AssertionError  # it has raised


class _Absent(type):
    """A class that can be imported, and asked for by isinstance; any other use is refused."""

    def __call__(cls, *arguments: Any, **named: Any) -> NoReturn:
        refuse("onnxruntime", cls.__name__)

    def __getattr__(cls, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        refuse("onnxruntime", cls.__name__)


def absent(name: str) -> type:
    """What stands for a name of the module that is not there. AttributeError: ONNX Runtime has no such name either."""
    said = NAMES["onnxruntime"].get(name)
    if said is None or said.state != "absent":
        raise AttributeError(f"module 'heddle' has no attribute {name!r}")
    return _Absent(name, (), {"__doc__": f"Not there: {said.remark}."})


def _refused(owner: str, name: str) -> Any:
    def method(*arguments: Any, **named: Any) -> NoReturn:
        refuse(owner, name)
    method.__name__ = name
    method.__doc__ = f"Not there: {NAMES[owner][name].remark}."
    return method


def without_absent(cls: _Class) -> _Class:
    """Gives a class the members that are absent, as methods that refuse; those that it defines itself stay."""
    for name, said in NAMES[cls.__name__].items():
        if said.state == "absent" and not hasattr(cls, name):
            setattr(cls, name, _refused(cls.__name__, name))
    return cls
