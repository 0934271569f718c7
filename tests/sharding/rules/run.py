"""Compares the sharding rules that Heddle derives with those that Shardy has written by hand (shardy.yaml of this folder).

Every row must be equal, or have the rule that Heddle derives instead and a sentence that says why. docs/sharding.md shows the table.

    .venv/bin/python tests/sharding/rules/run.py [--heddle PROGRAM] [--write]

`--write` puts the table into the page; without it the page must have it as it is.
"""
import argparse
import concurrent.futures
import copy
import dataclasses
import json
import pathlib
import subprocess
import sys

try:
    import yaml
except ImportError:
    print("PyYAML is missing")
    sys.exit(77)  # ctest: skipped

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
PAGE = ROOT / "docs" / "sharding.md"
BEGIN, END = "<!-- tests/sharding/rules/run.py --write: begin -->\n", "<!-- end -->\n"
KINDS = ["pass_through", "reduction", "permutation", "need_replication"]


@dataclasses.dataclass
class Factor:
    size: int
    kind: str
    at: list[str]  # "x.0": dimension 0 of x

    def text(self):
        return f"{self.size} {self.kind} at {' '.join(self.at)}"


def factor_of(text):
    size, kind, at, *places = text.split()
    if kind not in KINDS or at != "at" or not places or len(set(places)) != len(places):
        raise ValueError(f"no factor: {text!r}")
    return Factor(int(size), kind, places)


# ---- what Heddle derives, in the same form

def moves_of(axis):
    """{"x.0": (step, window, of an output)} of the dimensions along which parts of the axis are parts of a tensor."""
    return {f"{tensor['tensor']}.{move['dimension']}": (move["step"], move["window"], side == "outputs")
            for side in ("inputs", "outputs") for tensor in axis[side] for move in tensor["moves"] if move["step"] != 0}


def aligned(place, sizes, axes):
    """Whether equal parts of each axis that moves along a dimension are equal parts of it: their coordinates are its digits, and
    no element is read by two parts."""
    digits = sorted((moves[place][0], axis["size"], *moves[place][1:]) for axis, moves in axes
                    if place in moves and axis["size"] != 1)
    product = 1
    for step, size, window, written in digits:
        others = sum((other_size - 1) * abs(other_step) for other_step, other_size, *_ in digits) - (size - 1) * abs(step)
        if step != product or not written and window != 1 + others:
            return False
        product *= size
    return product == sizes[place]


def derived(operation):
    """The factors of an operation of `heddle explain`, of any body: one for each axis."""
    sizes = {}
    for tensor in operation["inputs"] + operation["outputs"]:
        shape = tensor["type"].split("[")[1].rstrip("]")
        for dimension, size in enumerate(shape.split(",") if shape else []):
            sizes[f"{tensor['name']}.{dimension}"] = int(size)
    axes = [(axis, moves_of(axis)) for axis in operation["axes"]]
    factors = []
    for axis, moves in sorted(axes, key=lambda pair: -max([abs(step) for step, *_ in pair[1].values()], default=0)):
        if not moves:
            continue
        if axis["refusal"] or axis["ordered"]:  # parts of steps wait for one another, which Shardy's factors cannot say
            kind = "need_replication"
        elif axis["cut"] != "passed":
            kind = "reduction"
        elif all(aligned(place, sizes, axes) for place in moves):
            kind = "pass_through"
        else:
            kind = "permutation"
        if axis["size"] != 1 or kind == "permutation":  # of a single element there are no parts, but it may be taken from many
            factors.append(Factor(axis["size"], kind, list(moves)))
    return factors, sizes


# ---- whether two rules say the same

def outer_pairs(factors, place):
    """Pairs of factors of a dimension, the outer one first; by what they are, not by their places in the list."""
    of = [(factor.kind, frozenset(factor.at)) for factor in factors if place in factor.at]
    return {(a, b) for i, a in enumerate(of) for b in of[i + 1:]}


def same(shardy, heddle, sizes):
    """Order counts only within a dimension. A permutation has the size of any of its dimensions: they differ, and which one is
    taken says nothing."""
    def size_of(factor):
        fits = factor.kind == "permutation" and factor.size in {sizes[place] for place in factor.at}
        return -1 if fits else factor.size

    def key(factor):
        return factor.kind, sorted(factor.at), size_of(factor)

    return (sorted(map(key, shardy)) == sorted(map(key, heddle)) and
            all(outer_pairs(shardy, place) == outer_pairs(heddle, place) for place in sizes))


# ---- rows

@dataclasses.dataclass
class Outcome:
    operation: str
    row: dict
    heddle: list = dataclasses.field(default_factory=list)
    problem: str = ""


def explained(program, operator, arguments):
    command = [program, "explain", "--library", str(HERE / "templates.yaml"), operator, *arguments, "--format", "json"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if result.returncode != 0:
        raise ValueError(result.stdout + result.stderr)
    operations = json.loads(result.stdout)["operations"]
    if len(operations) > 1:
        raise ValueError(f"{operator} is {len(operations)} operations; a row is of one")
    return operations[0] if operations else {"inputs": [], "outputs": [], "axes": []}


def outcome_of(program, operation, operator, row):
    outcome = Outcome(operation, row)
    try:
        outcome.heddle, sizes = derived(explained(program, operator, row["arguments"]))
        shardy = [factor_of(text) for text in row["shardy"]]
        unknown = {place for factor in shardy for place in factor.at} - set(sizes)
        if unknown and sizes:
            raise ValueError(f"no dimensions: {', '.join(sorted(unknown))}")
        equal = same(shardy, outcome.heddle, sizes)
    except (ValueError, subprocess.TimeoutExpired) as error:
        outcome.problem = str(error)
        return outcome
    texts = [factor.text() for factor in outcome.heddle]
    if equal and ("heddle" in row or "why" in row):
        outcome.problem = "the rules are equal now: take `heddle` and `why` away"
    elif not equal and not row.get("why"):
        outcome.problem = "the rules differ, and nothing says why"
    elif not equal and texts != row.get("heddle"):
        outcome.problem = "Heddle derives another rule than `heddle` says"
    if outcome.problem:
        outcome.problem += f"\n  Shardy: {row['shardy']}\n  Heddle: {json.dumps(texts)}"
    return outcome


def outcomes(program, table):
    with concurrent.futures.ThreadPoolExecutor() as pool:
        return list(pool.map(lambda one: outcome_of(program, *one),
                             [(operation, operator, row) for row in table["rows"] for operation, operator in row["operations"].items()]))


def unnoticed(program, table):
    """What is done to a row, and would not be found."""
    equal = next(row for row in table["rows"] if "why" not in row and row["shardy"])
    explained_row = next(row for row in table["rows"] if len(row.get("heddle", [])) > 1)

    def changed(row, what):
        row = copy.deepcopy(row)
        what(row)
        return row

    wrong = {
        "an equal row is explained": changed(equal, lambda row: row.update(why="It was different.")),
        "a row differs without a reason": changed(explained_row, lambda row: row.pop("why")),
        "Heddle's rule is another one": changed(explained_row, lambda row: row["heddle"].pop()),
        "Shardy's rule is another one": changed(equal, lambda row: row["shardy"].pop()),
        "a kind is another one": changed(equal, lambda row: row.update(shardy=[
            text.replace("pass_through", "reduction") for text in row["shardy"]])),
        "an operator does not exist": changed(equal, lambda row: row["operations"].update(
            {operation: "nothing" for operation in row["operations"]})),
        "a tensor does not exist": changed(equal, lambda row: row["shardy"].append("2 reduction at nothing.0")),
    }
    return [what for what, row in wrong.items()
            if not outcome_of(program, *next(iter(row["operations"].items())), row).problem]


# ---- the page

def cell(factors):
    return "<br>".join(factors) if factors else "none"


def page_of(table, found):
    rows = []
    for row in table["rows"]:
        names = ", ".join(f"`{name}`" for name in row["operations"])
        heddle = cell(row["heddle"]) if "heddle" in row else "equal"
        rows.append(f"| {names} | {row['example']} | {cell(row['shardy'])} | {heddle} | {row.get('why', '')} |\n")
    equal = sum("why" not in outcome.row for outcome in found)
    without = [f"| {', '.join(f'`{name}`' for name in row['operations'])} | {row['why']} |\n" for row in table["without_counterpart"]]
    return (f"{len(found)} rules of {len({outcome.operation for outcome in found})} operations: {equal} are equal, "
            f"{len(found) - equal} differ.\n\n"
            "| operation | example | Shardy | Heddle | why |\n|---|---|---|---|---|\n" + "".join(rows) +
            "\nThe rest of the table:\n\n| operation | why it has no row |\n|---|---|\n" + "".join(without))


def parts_of_page():
    before, found, rest = PAGE.read_text().partition(BEGIN)
    table, end, after = rest.partition(END)
    if not found or not end:
        raise SystemExit(f"{PAGE} has no place for the table: {BEGIN.strip()} ... {END.strip()}")
    return before, table, after


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heddle", default=str(ROOT / "build" / "heddle"))
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    table = yaml.safe_load((HERE / "shardy.yaml").read_text())
    found = outcomes(options.heddle, table)
    wrong = [outcome for outcome in found if outcome.problem]
    for outcome in wrong:
        print(f"{outcome.operation} ({outcome.row['example']}): {outcome.problem}")
    missed = unnoticed(options.heddle, table)
    for what in missed:
        print(f"not found: {what}")
    before, shown, after = parts_of_page()
    page = page_of(table, found)
    if options.write and not wrong:
        PAGE.write_text(before + BEGIN + page + END + after)
    elif shown != page:
        print("docs/sharding.md shows another table: tests/sharding/rules/run.py --write")
    equal = sum("why" not in outcome.row for outcome in found)
    print(f"{len(found)} rules: {equal} equal, {len(found) - equal} explained, {len(wrong)} wrong")
    return 1 if wrong or missed or (shown != page and not options.write) else 0


if __name__ == "__main__":
    sys.exit(main())
