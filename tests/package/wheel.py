"""A wheel of dist (scripts/wheel) in a fresh environment: it is installed, runs a model and an operator there, and all that the
process maps beside what Python and NumPy do is its own, or on the short list of libraries that every manylinux has. Where the system allows
it (unshare), LLVM and the other libraries that the wheel was built with are hidden meanwhile.

    python3 tests/package/wheel.py [--made]      --made: it must be there; else a wheel that was not made is a SKIP
"""
import argparse
import glob
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import report

# Of the system: what auditwheel's policies let a wheel rely on (pep600), as far as this one does.
SYSTEM = re.compile(r"/(ld-linux-x86-64|libc|libm|libdl|libpthread|librt|libutil|libstdc\+\+|libgcc_s|libz)\.so\.[0-9.]+$")
PARTS = ["{fmt}", "yaml-cpp", "nlohmann/json", "LLVM", "Zstandard", "nanobind", "robin-map"]  # of others, in a wheel
HIDDEN = ["libLLVM*", "libyaml-cpp*", "libfmt*", "libzstd*", "libz3*", "libedit*", "libxml2*"]
PROGRAM = """
import json, sys, time
def mapped():
    return {line.split(None, 5)[5].strip() for line in open("/proc/self/maps") if len(line.split(None, 5)) == 6}
begin = time.perf_counter()
import numpy
numpy_done = time.perf_counter()
before = mapped()
begin_import = time.perf_counter()
import heddle
imported = time.perf_counter()
heddle.use_cache(None)
session = heddle.InferenceSession(sys.argv[1])
(y,) = session.run(None, {"x": numpy.zeros((2, 4), "float32")})
first = time.perf_counter()
assert numpy.allclose(y, numpy.exp(numpy.arange(4)) / numpy.exp(numpy.arange(4)).sum(), atol=1e-6), y
x = numpy.linspace(-2, 2, 1000, dtype="float32")
assert numpy.allclose(heddle.load_library().call("tanh", x), numpy.tanh(x), atol=1e-6)
files = sorted(file for file in mapped() - before if file.startswith("/"))
print(json.dumps({"file": heddle.__file__, "files": files, "numpy_s": numpy_done - begin, "import_s": imported - begin_import,
                  "first_result_s": first - imported}))
"""


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, **options)


def hiding(folder):
    """A shell prefix that hides what the wheel was built with; None where the system does not allow it."""
    lines = []
    empty, nothing = folder / "empty", folder / "nothing"
    empty.mkdir()
    nothing.touch()
    for place in glob.glob("/usr/lib/llvm-*"):
        lines.append(f"mount --bind {empty} {place}")
    for pattern in HIDDEN:
        for place in glob.glob(f"/usr/lib/*/{pattern}.so*"):
            if not os.path.islink(place):
                lines.append(f"mount --bind {nothing} {place}")
    script = folder / "hide.sh"
    script.write_text("set -e\n" + "\n".join(lines) + '\nexec "$@"\n')
    prefix = ["unshare", "-m" if os.geteuid() == 0 else "-rm", "bash", str(script)]
    return prefix if run(*prefix, "true").returncode == 0 else None


def check(wheel, results):
    size = wheel.stat().st_size / 1e6
    tag = re.search(r"manylinux_\d+_\d+_x86_64", wheel.name)
    results.check("the wheel has a tag of manylinux", None if tag else wheel.name)
    with zipfile.ZipFile(wheel) as archive:
        texts = {pathlib.PurePath(name).name: archive.read(name).decode() for name in archive.namelist() if "dist-info/" in name and
                 name.endswith(("LICENSE", "NOTICES"))}
    absent = [part for name, part in [("LICENSE", "TERMS AND CONDITIONS"), *(("NOTICES", part) for part in PARTS)]
              if part not in texts.get(name, "")]
    results.check("the wheel has the licences of what is in it", f"nothing of {', '.join(absent)}" if absent else None)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        python = folder / "env/bin/python"
        run(sys.executable, "-m", "venv", str(folder / "env"), check=True)
        installed = run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel))
        if installed.returncode != 0:
            results.add("SKIP", "the wheel runs in a fresh environment", "NumPy cannot be fetched: " + installed.stderr[-300:])
            return
        program = folder / "program.py"
        program.write_text(PROGRAM)
        prefix = hiding(folder) or []
        environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "LD_LIBRARY_PATH")}
        done = run(*prefix, python, str(program), str(ROOT / "examples/embed/four_classes.onnx"), env=environment, cwd=folder)
        if done.returncode != 0:
            results.check("the wheel runs in a fresh environment", "\n" + done.stdout + done.stderr)
            return
        found = json.loads(done.stdout.splitlines()[-1])
        results.check("the wheel runs in a fresh environment" + ("" if prefix else ", where LLVM could not be hidden"),
                      None if found["file"].startswith(str(folder)) else found["file"])
        homes = (str(folder), os.path.realpath(folder), sys.base_prefix, os.path.realpath(sys.base_prefix))
        strangers = [f for f in found["files"]
                     if re.search(r"\.so(\.|$)", f) and not f.startswith(homes) and not SYSTEM.search(f)]
        results.check("all that it maps is its own or every manylinux's", ", ".join(strangers) or None)
        print(f"{wheel.name}: {size:.1f} MB; import {1e3 * found['import_s']:.0f} ms beside NumPy's "
              f"{1e3 * found['numpy_s']:.0f} ms, first result of a model {1e3 * found['first_result_s']:.0f} ms later")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--made", action="store_true")
    options = parser.parse_args()
    results = report.Report()
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    wheels = sorted((ROOT / "dist").glob(f"heddle-*-{tag}-*.whl"))
    if wheels:
        check(wheels[-1], results)
    elif options.made:
        results.check("the wheel is there", "dist has none")
    else:
        results.add("SKIP", "the wheel in a fresh environment", "no wheel in dist: scripts/wheel makes and checks one")
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
