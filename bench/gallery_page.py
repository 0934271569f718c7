"""Writes the tables of docs/gallery.md anew, from what bench/gallery.py has measured (bench/results/gallery.json).

    python bench/gallery_page.py [--results DIR]
"""
import argparse
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "examples/gallery"))

import gallery

operators = gallery.load()


def digits(milliseconds):
    return f"{milliseconds:.3g}" if milliseconds < 1000 else f"{milliseconds:,.0f}"


def line_of(operator, row):
    sizes = ", ".join(f"{name} {size:,}" for name, size in operator.bench.items())
    what = operator.doc.split(". ")[0].split("; ")[0].rstrip(".")
    if "error" in row:
        return f"| `{operator.name}` | {what}; {sizes} | failed: {row['error']} | | | | |"
    return (f"| `{operator.name}` | {what}; {sizes} | {digits(row['ms'])} | {digits(row['c_ms'])} | {digits(row['limit_ms'])} "
            f"({row['limit_by']}) | {row['share']:.0%} | {row['compile_ms']:.0f} |")


def table_of(group, results):
    lines = ["| operator | what, and sizes | ms | C, ms | limit, ms | of the limit | compile, ms |", "|---|---|---|---|---|---|---|"]
    return "\n".join(lines + [line_of(operator, results[name]) for name, operator in operators.items()
                              if operator.group == group and name in results])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "bench/results", metavar="DIR")
    measured = parser.parse_args().results / "gallery.json"
    if not measured.exists():
        parser.error(f"there is no {measured}: bench/gallery.py writes it")
    page = ROOT / "docs/gallery.md"
    report = json.loads(measured.read_text())

    def filled(match):
        name = match[1]
        if name == "summary":
            text = (f"{report['heddle']} on {report['cpu']}, {report['date']}, one thread:\n\n"
                    + "\n".join(f"* {line}" for line in report["summary"]))
        else:
            text = table_of(name, report["results"])
        return f"<!-- measured {name} -->\n{text}\n<!-- end -->"

    page.write_text(re.sub(r"<!-- measured (\w+) -->\n.*?<!-- end -->", filled, page.read_text(), flags=re.S))
    print(f"wrote {page.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
