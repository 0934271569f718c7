"""How true the model of seconds is by which programs are cut over machines (docs/machines.md): modelled and measured seconds at
one place, at two places as threads, and at two and four MPI ranks, each place with one thread; and at one place for each kind of
kernel. A ratio is measured / modelled. Rounds of all set-ups alternate, and the median of all runs counts.

    python bench/machines.py [--quick] [--rounds N] [--setups TEXT...] [NAME...]
"""
import collections
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

import reports

HEDDLE, MODELS = reports.ROOT / "build/heddle", reports.ROOT / ".cache/models"
MPIRUN = ["mpirun", "--oversubscribe", "-n"]
# By name: what a command ahead of heddle is, and what heddle is told.
SETUPS = {
    "1 place": ([], ["--shard", "1", "--threads", "1"]),
    "2 threads": ([], ["--shard", "2", "--threads", "2"]),
    "2 ranks": ([*MPIRUN, "2"], ["--threads", "1"]),
    "4 ranks": ([*MPIRUN, "4"], ["--threads", "1"]),
}


def call(text, **types):
    return ["--call", text, *(word for name, shape in types.items() for word in ("--input-type", f"{name}=float32{shape}"))]


def mlp(rows, size, inner):
    return call("h = relu(numpy_matmul(x, w)); y = numpy_matmul(h, v)", x=[rows, size], w=[size, inner], v=[inner, size])


def decoder_layer(rows=256, size=1024, heads=8, inner=2816):
    """A layer like those of Llama: norms by the root of the mean square, attention, a gated feed-forward part."""
    each = size // heads
    norm = "div({0}, sqrt(add2(reduce_mean(mul({0}, {0}), axes: [1], keepdims: true), e)))"
    split = f"transpose(reshape_to(numpy_matmul(n, {{}}), shape: [{rows}, {heads}, {each}]), perm: [{{}}])"
    text = "; ".join([
        f"n = {norm.format('x')}",
        *(f"{name} = {split.format('w' + name, axes)}" for name, axes in (("q", "1, 0, 2"), ("k", "1, 2, 0"), ("v", "1, 0, 2"))),
        "a = numpy_matmul(softmax(numpy_matmul(q, k), axis: 2), v)",
        f"o = add2(x, numpy_matmul(reshape_to(transpose(a, perm: [1, 0, 2]), shape: [{rows}, {size}]), wo))",
        f"m = {norm.format('o')}",
        "g = numpy_matmul(m, wg)",
        "y = add2(o, numpy_matmul(mul(mul(g, sigmoid(g)), numpy_matmul(m, wu)), wd))",
    ])
    square = [size, size]
    return call(text, x=[rows, size], e=[1], wq=square, wk=square, wv=square, wo=square, wg=[size, inner], wu=[size, inner],
                wd=[inner, size])


def resnet_of_batches(folder):
    """A copy of the model whose batch is open."""
    import onnx
    from onnx import numpy_helper
    model = onnx.load(MODELS / "resnet50.onnx")
    for value in (*model.graph.input, *model.graph.output):
        if value.name not in {tensor.name for tensor in model.graph.initializer}:
            value.type.tensor_type.shape.dim[0].dim_param = "batch"
    shapes = {node.input[1] for node in model.graph.node if node.op_type == "Reshape"}
    for tensor in model.graph.initializer:
        if tensor.name in shapes:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) * [0, 1] - [1, 0], tensor.name))
    del model.graph.value_info[:]
    path = f"{folder}/resnet50-batches.onnx"
    onnx.save(model, path)
    return path


def cases(folder):
    minilm = str(MODELS / "minilm.onnx")
    return {
        "mlp": lambda: mlp(512, 1024, 4096),
        "decoder-layer": decoder_layer,
        "minilm-8x64": lambda: [minilm, "--bind", "batch=8", "--bind", "sequence=64"],
        "minilm-1x128": lambda: [minilm, "--bind", "batch=1", "--bind", "sequence=128"],
        "resnet50-8": lambda: [resnet_of_batches(folder), "--bind", "batch=8"],
        "resnet50-1": lambda: [str(MODELS / "resnet50.onnx")],
    }


NAMES = list(cases(""))


def run(program, setup, repeat):
    ahead, told = SETUPS[setup]
    words = [*ahead, HEDDLE, "run", *program, "--random", "1", *told, "--repeat", repeat, "--placement", "--format", "json"]
    env = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, env=env)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout[done.stdout.index("{"):])


def measure(program, setups, rounds, repeat):
    seconds, modelled = collections.defaultdict(list), {}
    for _ in range(rounds):
        for setup in setups:
            said = run(program, setup, repeat)
            seconds[setup] += [ms / 1e3 for ms in said["run_ms"]["all"][1:]]
            modelled[setup] = said["shards"]["modelled"]
    rows = []
    for setup in setups:
        model = sum(modelled[setup].values())
        median = statistics.median(seconds[setup])
        rows.append({"setup": setup, "modelled": model, **modelled[setup], "seconds": median, "least": min(seconds[setup]),
                     "ratio": median / model})
    return rows


def kinds_of_kernels(program, folder, repeat):
    """At one place: what kernels of the same operators take together."""
    path = f"{folder}/profile.json"
    words = [HEDDLE, "run", *program, "--random", "1", "--threads", "1", "--repeat", str(repeat), "--profile", path]
    subprocess.run([str(word) for word in words], capture_output=True, check=True)
    with open(path) as file:
        launches = json.load(file)
    kinds = {}
    for launch in launches if isinstance(launches, list) else launches["launches"]:
        title = launch.get("operators") or ("layout" if launch["layout"] else launch["name"])
        kind = kinds.setdefault(title, {"operators": title, "launches": 0, "modelled": 0, "seconds": 0})
        kind["launches"] += 1
        kind["modelled"] += launch.get("modelled_microseconds", 0) / 1e6
        kind["seconds"] += launch["microseconds"] / 1e6
    return sorted(kinds.values(), key=lambda kind: -kind["seconds"])


def main():
    parser = reports.parser(__doc__, f"one of {', '.join(NAMES)}; without any, all")
    parser.add_argument("--rounds", type=int, default=3, help="how often each set-up is started (3)")
    parser.add_argument("--repeat", type=int, default=11, help="runs of a start, of which the first does not count (11)")
    parser.add_argument("--setups", nargs="*", choices=list(SETUPS), metavar="TEXT", help=f"of {', '.join(SETUPS)}")
    options = parser.parse_args()
    names = reports.chosen(parser, options.names, NAMES)
    setups = [setup for setup in options.setups or SETUPS if shutil.which("mpirun") or "rank" not in setup]
    if options.quick:
        names, setups, options.rounds, options.repeat = names[:1], setups[:2], 1, 3
    report = {"cpu": reports.cpu_name(), "cores": os.cpu_count(), "programs": []}
    print(f"{'program':14} {'set-up':10} {'modelled ms':>11} {'measured ms':>11} {'ratio':>6}")
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            program = cases(folder)[name]()
            rows = measure(program, setups, options.rounds, options.repeat)
            for row in rows:
                print(f"{name:14} {row['setup']:10} {1e3 * row['modelled']:11.3f} {1e3 * row['seconds']:11.3f} {row['ratio']:6.2f}",
                      flush=True)
            report["programs"].append({"program": name, "setups": rows, "kernels": kinds_of_kernels(program, folder, options.repeat)})
    print(f"\n{'program':14} {'kernels at one place':60} {'launches':>8} {'modelled ms':>11} {'measured ms':>11} {'ratio':>6}")
    for program in report["programs"]:
        for kind in program["kernels"][:8]:
            ratio = kind["seconds"] / kind["modelled"] if kind["modelled"] else float("nan")
            print(f"{program['program']:14} {kind['operators'][:60]:60} {kind['launches']:8} {1e3 * kind['modelled']:11.3f} "
                  f"{1e3 * kind['seconds']:11.3f} {ratio:6.2f}")
    print(f"\n-> {reports.shown(reports.write(options, 'machines.json', report))}")


if __name__ == "__main__":
    sys.exit(main())
