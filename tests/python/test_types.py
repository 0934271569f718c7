"""What checkers of types see of the package: every public function says its types, and so does the module below it."""
import inspect
import pathlib
import re

import heddle

FOLDER = pathlib.Path(heddle.__file__).resolve().parent
SKIPPED = {"__init_subclass__", "__subclasshook__", "__new__", "__class_getitem__"}


def functions_of(name, thing):
    if inspect.isfunction(thing):
        yield name, thing
    elif inspect.isclass(thing) and thing.__module__.startswith("heddle") and thing.__module__ != "heddle._heddle":
        for member, value in vars(thing).items():
            value = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
            value = value.fget if isinstance(value, property) else value
            refuses = "Not there" in (getattr(value, "__doc__", "") or "")  # names of ONNX Runtime
            if inspect.isfunction(value) and member not in SKIPPED and not refuses and not hasattr(value, "__wrapped__"):
                if value.__module__.startswith("heddle"):
                    yield f"{name}.{member}", value


def test_every_public_function_says_its_types():
    seen = 0
    for public in heddle.__all__:
        for name, function in functions_of(public, getattr(heddle, public)):
            parameters = [parameter for parameter in inspect.signature(function).parameters if parameter != "self"]
            missing = [parameter for parameter in [*parameters, "return"]
                       if parameter not in function.__annotations__ and parameter not in ("cls",)]
            assert not missing or name.endswith(("__eq__", "__repr__", "__hash__", "__setattr__", "__delattr__")) or (
                name.endswith("__init__") and missing == ["return"]), f"{name}: {missing}"
            seen += 1
    assert seen > 80, seen


def test_the_module_below_has_types():
    assert (FOLDER / "py.typed").exists()
    stub = (pathlib.Path(heddle.__file__).parent / "_heddle.pyi").read_text()
    used = {name for path in FOLDER.glob("*.py") for name in re.findall(r"\b_heddle\.(\w+)", path.read_text())}
    known = set(re.findall(r"^(?:def|class) (\w+)", stub, re.MULTILINE))
    assert used and used <= known, used - known
