"""What README.md and docs/*.md point at exists: files of the project between backquotes, linked pages, and headings of pages.

    .venv/bin/python tests/docs/references.py
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import report

FENCE = re.compile(r"^```.*?^```$", re.S | re.M)
PATH = re.compile(r"(?<![\w./*-])(?:[\w-]+/)*[\w*-]+\.(?:h|cpp|def|py|yaml|test)\b|(?<![\w./*-])(?:src|tests|operators|scripts|bench)(?:/[\w.*-]+)+")
MADE = ["bench/results"]                    # by programs
PLACEHOLDER = re.compile(r"[A-Z]{4,}|\bX\b")  # NAME.yaml, src/X


def anchors(page):
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text()), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def exists(path):
    """As it stands, below src, src/api (as users include it), tests or bench, or (a bare name) anywhere below these."""
    folders = ["", "src/", "src/api/", "tests/", "bench/"]
    return any(any(ROOT.glob(folder + path)) for folder in folders) or (
        "/" not in path and any(any((ROOT / folder).rglob(path)) for folder in folders[1:]))


def problems(page, text):
    prose = FENCE.sub("", text)
    made = set(re.findall(r"^# (\w[\w.-]*)$", text, re.M))  # files of its examples
    for code in re.findall(r"`([^`\n]+)`", prose):
        for path in PATH.findall(code):
            if path not in made and path not in MADE and not PLACEHOLDER.search(path) and not exists(path):
                yield f"no file {path}"
    for file, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", prose):
        if file.startswith("http"):
            continue
        target = (page.parent / file).resolve() if file else page
        if not target.exists():
            yield f"no page {file}"
        elif anchor and anchor not in anchors(target):
            yield f"no heading #{anchor} in {target.name}"


def main():
    results = report.Report()
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        results.check(page.relative_to(ROOT), "; ".join(problems(page, page.read_text())))
    linked = set(re.findall(r"\]\(docs/([\w-]+\.md)", (ROOT / "README.md").read_text()))
    unlisted = sorted(page.name for page in (ROOT / "docs").glob("*.md") if page.name not in linked)
    results.check("README.md lists every page", ", ".join(unlisted))
    wrong = "`graph/grahp.h`, `src/nowhere`, `absent.py`, [a](absent.md), [b](language.md#absent)"
    found = list(problems(ROOT / "docs/language.md", wrong))
    results.check("five wrong references are noticed", "" if len(found) == 5 else f"only {found}")
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
