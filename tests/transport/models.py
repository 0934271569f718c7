"""Models cut over four ranks of Open MPI: their outputs beside one process's, and the bytes of each link beside the plan's.

    python tests/transport/models.py [--heddle build/heddle] [--offline] [--full] [MODEL...]

--full takes the models whole, which lasts minutes; else parts of them, and few tokens.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/models"), str(ROOT / "scripts")]

import numpy as np
import onnx
import onnx.utils

import equality
import inputs
import make_models
import report

RANKS = 4
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


def run(words, ranks, shards=()):
    """(outputs by name, report) of one process, or of ranks."""
    with tempfile.TemporaryDirectory() as folder:
        command = [*words, "--format", "json", "--threads", "1", "--output", f"{folder}/y.npz"]
        command += [word for shard in shards for word in ("--shard", shard)]
        if ranks > 1:
            command = ["mpirun.openmpi", "--oversubscribe", "-n", str(ranks), *command]
        done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
        if done.returncode:
            raise RuntimeError(done.stderr.strip() or done.stdout.strip() or f"exit status {done.returncode}")
        return dict(np.load(f"{folder}/y.npz")), json.loads(done.stdout[done.stdout.index("{"):done.stdout.rindex("}") + 1])


def other_links(links, planned):
    """Links that have carried other bytes than planned, by (from, to)."""
    sent = {(link["from"], link["to"]): link["sent_bytes"] for link in links}
    return {link: (sent.get(link, 0), planned.get(link, 0)) for link in sent | planned if sent.get(link, 0) != planned.get(link, 0)}


def check(words, shards, planned, exactly):
    """`planned`: bytes by link, where the test knows them itself; else the plan's are taken."""
    alone = run(words, 1)[0]
    cut, told = run(words, RANKS, shards)
    links = told["shards"]["links"]
    modelled = {(link["from"], link["to"]): link["bytes"] for link in links}
    for by in (modelled, modelled if planned is None else planned(alone)):
        if wrong := other_links(links, by):
            return False, f"links carry other bytes than planned: {wrong}"
    compared = [equality.compare(cut[name], array, array) for name, array in alone.items()]
    same = all((cut[name] == array).all() for name, array in alone.items())
    bytes_sent = sum(link["sent_bytes"] for link in links)
    detail = "; ".join(text for _, text in compared) + f"; bits {'equal' if same else 'differ'}; {len(links)} links, {bytes_sent} bytes"
    return all(fine for fine, _ in compared) and (same or not exactly) and len(links) > 0, detail


def notices_other_bytes(words, shards):
    """A check that expects a byte more, or a link that there is not, fails."""
    links = run(words, RANKS, shards)[1]["shards"]["links"]
    planned = {(link["from"], link["to"]): link["bytes"] for link in links}
    first = next(iter(planned))
    wrong = [planned | {first: planned[first] + 1}, planned | {(RANKS, 0): 4}, {link: planned[link] for link in planned if link != first}]
    noticed = [len(other_links(links, each)) for each in wrong]
    return not other_links(links, planned) and noticed == [1, 1, 1], f"{noticed} of [1, 1, 1] noticed"


def another_byte(heddle, shard, column_of):
    """Files of a perceptron that differ in one byte of the second weight: whoever has it is named, and all ranks end."""
    model = make_models.make("perceptron")
    data = model.read_bytes()
    weight = next(each for each in onnx.load_from_string(data).graph.initializer if each.name == "w1")
    begin, rng, noticed = data.index(weight.raw_data), np.random.default_rng(2), []
    with tempfile.TemporaryDirectory() as folder:
        for wrong in range(RANKS):
            row, column, byte = int(rng.integers(512)), column_of(rng, wrong), int(rng.integers(4))
            changed = bytearray(data)
            changed[begin + (512 * row + column) * 4 + byte] ^= 1 << int(rng.integers(8))
            pathlib.Path(f"{folder}/changed.onnx").write_bytes(changed)
            command = ["mpirun.openmpi", "--oversubscribe"]
            for rank in range(RANKS):
                path = f"{folder}/changed.onnx" if rank == wrong else str(model)
                command += [*([":"] if rank else []), "-n", "1", heddle, "run", path, "--bind", "batch=8", "--random", "1", "--threads", "1", "--shard", shard]
            done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=120)
            noticed.append(done.returncode != 0 and f"process {wrong} has another set of weights than most" in done.stderr)
    return all(noticed), f"{sum(noticed)} of {RANKS} found"


def gathered(outputs):
    """What is planned where each rank has a quarter of each output, and nothing else is sent."""
    return {(rank, 0): sum(array.nbytes for array in outputs.values()) // RANKS for rank in range(1, RANKS)}


def save_inputs(folder, feeds):
    np.savez(f"{folder}/feeds.npz", **feeds)
    return ["--input", f"{folder}/feeds.npz"]


def resnet(folder, full):
    """ResNet-50 for a batch of four; else its first layers, for small images."""
    proto = onnx.load(make_models.make("resnet50"))
    name = proto.graph.input[0].name
    end = proto.graph.output[0].name
    if not full:
        sums = [node.output[0] for node in proto.graph.node if node.op_type == "Sum" or node.op_type == "Add"]
        end = sums[1]
        proto = onnx.utils.Extractor(onnx.shape_inference.infer_shapes(proto)).extract_model([name], [end])
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "images"
    for value in (*proto.graph.output, *proto.graph.value_info):
        value.type.tensor_type.ClearField("shape")
    for tensor in proto.graph.initializer:
        if tensor.data_type == onnx.TensorProto.INT64 and list(onnx.numpy_helper.to_array(tensor)) == [1, 2048]:
            tensor.CopyFrom(onnx.numpy_helper.from_array(np.array([-1, 2048]), tensor.name))
    size = 224 if full else 64
    for dimension in proto.graph.input[0].type.tensor_type.shape.dim[2:]:
        dimension.dim_value = size
    onnx.save(proto, f"{folder}/resnet.onnx")
    image = inputs.smooth_image(4, size)
    return [f"{folder}/resnet.onnx", "--bind", "images=4", *save_inputs(folder, {name: image})], {
        "the batch": (["n=4"], None),
        "rows": (["out0=4"], None),
        "the search": (["4"], None),
    }


def minilm(folder, full):
    feeds = inputs.tokens(4, 128 if full else 16)
    words = [str(make_models.make("minilm")), "--bind", f"batch=4,sequence={128 if full else 16}", *save_inputs(folder, feeds)]
    return words, {"the batch": (["batch=4"], None), "tokens": (["sequence=4"], None), "the search": (["4"], None)}


LAYER = """n = rms_norm(x, g1); uq = numpy_matmul(n, wq); uk = numpy_matmul(n, wk); uv = numpy_matmul(n, wv);
    q = rotary_embedding(split_heads(uq, heads: 8), c, s); k = rotary_embedding(split_heads(uk, heads: 4), c, s);
    v = split_heads(uv, heads: 4); t = transpose(attention(q, k, v, causal: true), perm: [0, 2, 1, 3]);
    a = reshape_to(t, shape: [4, {tokens}, {width}]); h = add(x, numpy_matmul(a, wo)); m = rms_norm(h, g2);
    gate = numpy_matmul(m, wg); up = numpy_matmul(m, wu); y = add(h, numpy_matmul(mul(silu(gate), up), wd))"""


def llama_layer(folder, full):
    """A layer of a decoder: rotary embedding, four groups of two heads, a gated feed-forward part."""
    tokens, width, inner = (128, 1024, 2816) if full else (16, 256, 512)
    half = width // 16
    shapes = {"x": (4, tokens, width), "g1": (width,), "g2": (width,), "wq": (width, width), "wk": (width, half * 8),
              "wv": (width, half * 8), "wo": (width, width), "wg": (width, inner), "wu": (width, inner), "wd": (inner, width)}
    rng = np.random.default_rng(5)
    feeds = {name: (rng.standard_normal(shape) / np.sqrt(shape[0] if name[0] == "w" else 1)).astype(np.float32)
             for name, shape in shapes.items()}
    angles = np.arange(tokens)[:, None] * 10000.0 ** -(np.arange(half) / half)
    feeds |= {name: np.broadcast_to(of(angles), (4, tokens, half)).astype(np.float32) for name, of in (("c", np.cos), ("s", np.sin))}
    words = ["--call", LAYER.format(tokens=tokens, width=width), *save_inputs(folder, feeds)]
    words += [word for name, array in feeds.items()
              for word in ("--input-type", f"{name}=float32[{', '.join(['batch', *map(str, array.shape[1:])] if array.ndim == 3 else map(str, array.shape))}]")]
    return [*words, "--bind", "batch=4"], {
        "the batch": (["batch=4", "batch0=4", "outer0=4", "shape0=4", "out0=4", "b=4"], gathered),
        "tokens": (["row0=4", "outer1=4", "s=4", "out1=4", "shape1=4"], None),
        "heads": (["program.uq.col0=4", "program.uk.col0=4", "program.uv.col0=4", "heads=4", "h=4", "hk=4", "out2=4",
                   "program.a.shape2=4", "program.gate.col0=4", "program.up.col0=4"], None),
        "the search": (["4"], None),
    }


def moved(folder, _):
    """No float is added: the bits of one process."""
    feeds = {"x": np.random.default_rng(3).standard_normal((8, 12, 20)).astype(np.float32)}
    call = "t = transpose(x, perm: [1, 0, 2]); r = relu(t); e = exp(r); y = reduce_max(e, axes: [2])"
    words = ["--call", call, "--input-type", "x=float32[8, 12, 20]", *save_inputs(folder, feeds)]
    return words, {"rows": (["out0=4", "shape0=4"], None)}


MODELS = {"resnet50": resnet, "minilm": minilm, "llama layer": llama_layer, "without sums": moved}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heddle", default=str(ROOT / "build/heddle"))
    parser.add_argument("--offline", action="store_true")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"some of {', '.join(MODELS)}; without any, all")
    options = parser.parse_args()
    if unknown := set(options.models) - set(MODELS):
        parser.error(f"nothing is named {unknown.pop()}; there is: {', '.join(MODELS)}")
    told = report.Report()
    plugin = pathlib.Path(options.heddle).parent / "libheddle_mpi_openmpi.so"
    if not shutil.which("mpirun.openmpi") or not plugin.exists():
        told.add("SKIP", "models over ranks", "there is no Open MPI: scripts/setup installs it")
        return told.end()
    if not options.models:
        told.attempt("another byte of a weight that all use", another_byte, options.heddle, "batch=4", lambda rng, rank: int(rng.integers(512)))
        told.attempt("another byte of a part of one's own", another_byte, options.heddle, "n=4", lambda rng, rank: 128 * rank + int(rng.integers(128)))
    for name in options.models or MODELS:
        with tempfile.TemporaryDirectory() as folder:
            try:
                words, cuts = MODELS[name](folder, options.full)
            except make_models.Unavailable as problem:
                told.unavailable(name, problem, options.offline)
                continue
            for way, (shards, planned) in cuts.items():
                told.attempt(f"{name} cut by {way}", check, [options.heddle, "run", *words], shards, planned, name == "without sums")
            if name == "llama layer":
                told.attempt(f"{name}: other bytes are noticed", notices_other_bytes, [options.heddle, "run", *words], cuts["heads"][0])
    return told.end()


if __name__ == "__main__":
    sys.exit(main())
