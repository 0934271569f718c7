"""What the scripts of bench/ share: their options, names of cases, and where a report is written."""
import argparse
import json
import operator
import pathlib
import platform

ROOT = pathlib.Path(__file__).resolve().parent.parent


def parser(doc, names=None):
    """The options that every script takes. `names` says what its arguments are parts of; None: it takes none.

    --quick measures one case, shortly, so that a test can see that the script still works; its figures mean nothing.
    """
    made = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--quick", action="store_true", help="one case, as short as can be: whether the script works")
    made.add_argument("--results", type=pathlib.Path, default=ROOT / "bench/results", metavar="DIR",
                      help="where reports are written")
    if names:
        made.add_argument("names", nargs="*", metavar="NAME", help=names)
    return made


def part_of(name, case):
    return name in case


def chosen(parser, names, known, fits=operator.eq):
    """The cases that NAMEs ask for, all without any; a NAME that means none of `known` ends the script with a list."""
    for name in names:
        if not any(fits(name, case) for case in known):
            parser.error(f"nothing is named {name}; there is: {', '.join(known)}")
    return [case for case in known if not names or any(fits(name, case) for name in names)]


def cpu_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.processor()


def write(options, name, report):
    """`report` as JSON, or a text as it is; answers the path."""
    options.results.mkdir(parents=True, exist_ok=True)
    path = options.results / name
    path.write_text(report if isinstance(report, str) else json.dumps(report, indent=2) + "\n")
    return path


def shown(path):
    """Below the project's folder where it is there."""
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
