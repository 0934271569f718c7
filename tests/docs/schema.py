"""The JSON Schema of template files (heddle schema) against files that are right and files that are wrong.

    .venv/bin/python tests/docs/schema.py [--heddle PROGRAM]

Every file that it refuses, `heddle check` must refuse too: an editor that knows the schema never says more than Heddle. The same of
targets (heddle schema --targets), and of their tags.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import report

results = report.Report(quiet=True)
try:
    import jsonschema
    import yaml
except ImportError as missing:
    results.add("SKIP", "schema.py", missing)
    sys.exit(results.end())

GOOD = """t:
  inputs: {x: "$T[$n]"}
  index: "[$n]"
  outputs: {y: "$T"}
  body: "y = x"
"""

# What is put in place of what in GOOD.
WRONG = {
    "an unknown section": ("inputs:", "input:"),
    "no outputs": ("  outputs: {y: \"$T\"}\n", ""),
    "an unquoted index": ('"[$n]"\n', "[$n]\n"),
    "a body and a graph": ('body: "y = x"', 'body: "y = x"\n  graph: "y = relu(x)"'),
    "a body that is a mapping": ('"y = x"', "{y: x}"),
    "an unknown key of an input": ('"$T[$n]"}', '{dtype: $T, shap: "[$n]"}}'),
    "an input that overwrites": ('"$T[$n]"}', '{dtype: $T, shape: "[$n]", overwrites: x}}'),
    "optional that is no truth value": ('"$T[$n]"}', '{dtype: $T, shape: "[$n]", optional: maybe}}'),
    "an unknown dtype": ("  index:", "  constraints: {T: [float23]}\n  index:"),
    "a requirement without a message": ("  index:", '  constraints: {require: [["$n > 0"]]}\n  index:'),
    "an unknown key of a parameter": ("  index:", "  params: {a: {type: int, defualt: 1}}\n  index:"),
    "an unknown key of onnx": ("  index:", "  onnx: {names: Relu}\n  index:"),
    "a version of onnx that is none": ("  index:", "  onnx: {since: new}\n  index:"),
    "an unknown flavour": ('"$T[$n]"}', '{dtype: $T, shape: "[$n]", flavour: vanilla}}'),
    "an unknown key of a projection": ('"$T[$n]"}', '{dtype: $T, shape: "[$n]", ipf: {maps: "[1]", shape: [1]}}}'),
    "a rule without a replacement": ("t:\n", 'rewrites: {r: {match: "relu(x)"}}\nt:\n'),
    "an import that is no list": ("t:\n", "import: shared.yaml\nt:\n"),
    "a name that is none": ("t:\n", "2d:\n"),
    "a list of templates": ("t:\n", "- t:\n"),
}


# What is no target, to the schema and to Heddle.
WRONG_TARGETS = [
    '{"kind": "cude"}', '{"cors": 4}', '{"cores": 0}', '{"cores": 1.5}', '{"cores": "4"}', '{"bandwidth": 0}', '{"os": "linus"}',
    '{"kind": "cuda", "vector_bytes": 64}', '{"kind": "cuda", "arch": "sm_91"}', '{"kind": "machine"}', '{"kind": "library"}',
    '{"host": {"cors": 4}}', '{"host": 4}', '{"devices": {}}', '{"devices": {"a": {}}}', '{"devices": {"a:b": {"target": {}}}}',
    '{"devices": {"a": {"target": {}, "ids": 0}}}', '{"devices": {"a": {"target": {}, "id": -1}}}',
    '{"devices": {"a": {"target": {}}}, "links": [{"from": "a", "to": "b"}]}',
    '{"devices": {"a": {"target": {}, "scopes": {"global": {"bytes": 0}}}}}',
    '{"machines": {"a": {"traget": {}}}}', '{"schema": 2}', '{"features": 1}', '{"options": {"a": 1}}', '[]', '4',
]


def check_targets(heddle):
    schema = json.loads(subprocess.run([heddle, "schema", "--targets"], check=True, capture_output=True, text=True).stdout)
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)

    def refusal(value):
        error = jsonschema.exceptions.best_match(validator.iter_errors(value))
        return error and f"{error.json_path}: {error.message[:200]}"

    def target(text, *options):
        return subprocess.run([heddle, "targets", text, "--format", "json", *options], capture_output=True, text=True)

    tags = 0
    for path in sorted((ROOT / "targets").glob("*.json")):
        file = json.loads(path.read_text())
        results.check(path.name, refusal(file))
        for name, tag in file["tags"].items():
            tags += 1
            results.check(f"tag {name}", refusal(tag["target"]))
            shown = json.loads(target(name).stdout)
            for form in ["target", "expanded"]:
                results.check(f"tag {name}, {form}", refusal(shown[form]))
    results.check("forty tags", None if tags >= 40 else f"there are {tags}")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "t.json"
        for text in WRONG_TARGETS:
            results.check(text, None if refusal(json.loads(text)) else "the schema accepts it")
            path.write_text(text)
            results.check(text, "heddle targets accepts it" if target(path).returncode == 0 else None)


def blocks_of(page):
    """The yaml examples of a page that are files."""
    for block in re.findall(r"(?ms)^```yaml\n# (\S+\.yaml)\n(.*?)^```", page.read_text()):
        yield f"{page.name}: {block[0]}", block[1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", default=ROOT / "build/heddle")
    heddle = parser.parse_args().heddle
    schema = json.loads(subprocess.run([heddle, "schema"], check=True, capture_output=True, text=True).stdout)
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    def refusal(text):
        error = jsonschema.exceptions.best_match(validator.iter_errors(yaml.safe_load(text)))
        return error and f"{error.json_path}: {error.message[:200]}"

    right = {str(path.relative_to(ROOT)): path.read_text()
             for folder in ["operators", "tests/language/acceptance", "examples"]
             for path in sorted((ROOT / folder).rglob("*.yaml"))}
    for page in sorted((ROOT / "docs").glob("*.md")):
        right.update(blocks_of(page))
    for name, text in right.items():
        results.check(name, refusal(text))
    results.check("the file that wrong ones are made of", refusal(GOOD))
    with tempfile.TemporaryDirectory() as folder:
        for name, (old, new) in WRONG.items():
            text = GOOD.replace(old, new, 1)
            assert text != GOOD, name
            results.check(name, None if refusal(text) else "the schema accepts it")
            path = pathlib.Path(folder) / "t.yaml"
            path.write_text(text)
            accepts = subprocess.run([heddle, "check", path], capture_output=True).returncode == 0
            results.check(name, "heddle check accepts it" if accepts else None)
    check_targets(heddle)
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
