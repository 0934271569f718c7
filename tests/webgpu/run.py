"""Exports programs by `heddle compile --target webgpu`, has them validated and run: run.py HEDDLE HOW...

HOW is tint or naga (every module is taken), dawn, deno, chromium or firefox (every page says PASS; Firefox opens some).
Exit status 77, with the reason, where what that needs is not there; scripts/webgpu installs it.
"""

import glob
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
MODULES = os.path.join(ROOT, ".cache", "webgpu", "node_modules")
DENO = os.path.join(MODULES, "@deno", "linux-x64-glibc", "deno")
SWIFTSHADER = "/usr/lib/chromium/vk_swiftshader_icd.json"
LAVAPIPE = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json"
SKIP = 77

# By name: the program, types of its inputs, and how many dispatches it is to be.
PROGRAMS = {
    "example": ("p = transpose(x, perm: [0, 2, 1, 3]); g = gelu(p); e = exp(g); y = cos(e)",
                ["x=float32[2,3,64,48]"], 1),
    "softmax": ("y = softmax(x)", ["x=float32[37,300]"], 1),
    "layer_norm": ("y = layer_norm(x, s, b)", ["x=float32[10,20,300]", "s=float32[300]", "b=float32[300]"], 1),
    "matmul": ("y = matmul(x, w)", ["x=float32[100,70]", "w=float32[70,200]"], None),
    "vector": ("y = matmul(x, w)", ["x=float32[1,700]", "w=float32[700,200]"], 1),
    "conv": ("y = conv(x, w, b, pads: [1, 1, 1, 1])",
             ["x=float32[2,8,29,31]", "w=float32[40,8,3,3]", "b=float32[40]"], None),
    "attention": ("y = attention(q, k, v)",
                  ["q=float32[2,3,50,32]", "k=float32[2,3,70,32]", "v=float32[2,3,70,32]"], None),
    "causal": ("y = attention(q, k, v, causal: true)",
               ["q=float32[1,2,128,64]", "k=float32[1,2,128,64]", "v=float32[1,2,128,64]"], None),
    "long_attention": ("y = attention(q, k, v)",
                       ["q=float32[1,1,7,32]", "k=float32[1,1,3000,32]", "v=float32[1,1,3000,32]"], None),
    "quantised": ("y = matmul_integer(a, b)", ["a=uint8[20,50]", "b=int8[50,70]"], None),
    "sums_along": ("y = cumsum(x, axis: 1)", ["x=float32[7,200]"], 1),
    "sums_across": ("y = cumsum(x, axis: 0)", ["x=float32[300,70]"], 1),
    "gather": ("y = gather(x, i)", ["x=int64[30,20]", "i=int32[12]"], 1),
    "indices": ("y = gather(x, i)", ["x=float32[30,200]", "i=int64[12]"], 1),
    "argmax": ("y = argmax(x)", ["x=float32[31,77]"], 1),
    "top_k": ("y, i = top_k(x, k: 5)", ["x=float32[31,77]"], 1),
    # Places are int64, and beyond what fits one workgroup's memory; numbers that are equal, and none.
    "long_order": ("y = argsort(x)", ["x=float32[3,5000]"], None),
    "order_of_roots": ("h = sqrt(x); y = argsort(h)", ["x=float32[2,700]"], None),
    "compare": ("y = less(x, z)", ["x=float32[30,201]", "z=float32[30,201]"], 1),
    "bytes": ("y = add(x, z)", ["x=uint8[31,7]", "z=uint8[31,7]"], 1),
    "signed_bytes": ("y = mul(x, z)", ["x=int8[31,7]", "z=int8[31,7]"], 1),
    "halves": ("y = softmax(x)", ["x=float16[31,77]"], 1),
    "bfloat16": ("y = gelu(x)", ["x=bfloat16[31,77]"], 1),
    "pooling": ("y = max_pool(x, kernel: [3, 3], strides: [2, 2])", ["x=float32[1,4,31,77]"], 1),
    "lstm": ("y, h, c = lstm(x, w, r)", ["x=float32[12,3,10]", "w=float32[1,64,10]", "r=float32[1,64,16]"], None),
    # Of hundreds, where tanh itself is NaN on some devices; no numbers and infinities, which they may know nothing of.
    "tanh": ("h = mul(x, 100.0); y = tanh(h)", ["x=float32[3,1000]"], 1),
    "not_numbers": ("l = log(x); y = is_nan(l); m = reduce_max(l, axes: [1], keepdims: false)",
                    ["x=float32[30,100]"], None),
    "infinities": ("h = mul(x, 1000.0); y = exp(h)", ["x=float32[3,1000]"], 1),
    "many_tasks": ("y = softmax(x)", ["x=float32[70000,3]"], 1),
}
# Pages for ranges of sizes: the program, types of its inputs, ranges, and the sizes at which it is run, in this order and
# back; there, a page for one size has what it is compared with.
OPEN_PROGRAMS = {
    "open_elementwise": ("h = exp(x); y = cos(h)", ["x=float32[n,m]"], ["n=1:300", "m=1:300"],
                         [["n=1", "m=1"], ["n=7", "m=64"], ["n=300", "m=3"], ["n=299", "m=300"]]),
    "open_matmul": ("h = matmul(x, w); y = gelu(h)", ["x=float32[n,70]", "w=float32[70,200]"], ["n=1:"],
                    [["n=1"], ["n=3"], ["n=100"], ["n=2000"], ["n=17"]]),
    "open_attention": ("y = attention(q, k, v)", ["q=float32[1,2,s,32]", "k=float32[1,2,t,32]", "v=float32[1,2,t,32]"],
                       ["s=1:128", "t=1:4096"], [["s=5", "t=9"], ["s=128", "t=70"], ["s=1", "t=4000"], ["s=9", "t=9"]]),
    "open_means": ("m = reduce_mean(x, axes: [0], keepdims: true); y = sub(x, m)", ["x=float32[n,40]"], ["n=1:1000"],
                   [["n=1"], ["n=1000"], ["n=37"]]),
    "open_image": ("h = conv(x, w, b, pads: [1, 1, 1, 1]); r = relu(h); y = max_pool(r, kernel: [2, 2], strides: [2, 2])",
                   ["x=float32[1,3,h,w]", "w=float32[8,3,3,3]", "b=float32[8]"], ["h=8:256:8", "w=8:256:8"],
                   [["h=8", "w=8"], ["h=64", "w=40"], ["h=256", "w=16"]]),
    "open_scan": ("y = cumsum(x, axis: 0)", ["x=float32[n,70]"], ["n=1:3000"], [["n=3000"], ["n=1"], ["n=50"]]),
    "open_gather": ("y = gather(x, i)", ["x=float32[30,m]", "i=int64[k]"], ["m=1:1000", "k=1:1000"],
                    [["m=1", "k=1"], ["m=300", "k=12"], ["m=2", "k=999"]]),
    "open_order": ("y = argsort(x)", ["x=float32[n]"], ["n=1:5000"], [["n=1"], ["n=5000"], ["n=37"], ["n=700"]]),
    "open_bytes": ("y = add(x, x)", ["x=uint8[n]"], ["n=0:1000"], [["n=1000"], ["n=0"], ["n=3"], ["n=1"]]),
    "open_stepped": ("y = softmax(x)", ["x=float16[n,n]"], ["n=32:320:32"], [["n=32"], ["n=320"]]),
}
IN_FIREFOX = ["example", "attention", "quantised", "perceptron", "magika"]
MOST_OF_LOADER = 13_500  # bytes
SEEDS = range(16)  # of random programs
MODELS = {"magika": ["--bind", "unk__214=1"], "perceptron": ["--bind", "batch=1"]}


class Missing(Exception):
    """What a way of running needs is not there."""


def need(path, what):
    """The path, which must be there."""
    if not path or not os.path.exists(path):
        raise Missing(f"{what} is not there: scripts/webgpu installs it")
    return path


def random_program(seed):
    """Calls on matrices of awkward sizes, of what was made before; and the types of its inputs."""
    choose = random.Random(seed)
    n, m = choose.choice([1, 3, 17, 33, 64, 70]), choose.choice([1, 2, 5, 31, 65, 130])
    made, calls = {"x": (n, m), "z": (n, m), "w": (m, n)}, []
    for i in range(choose.randrange(3, 9)):
        source = choose.choice(list(made))
        rows, columns = made[source]
        same = choose.choice([other for other in made if made[other] == (rows, columns)])
        after = [other for other in made if made[other][0] == columns]
        one = choose.choice(["sin", "sigmoid", "abs", "gelu", "tanh", "softmax", "relu"])
        two = choose.choice(["add", "mul", "sub", "min_of", "max_of"])
        reduction = choose.choice(["reduce_sum", "reduce_max", "reduce_mean"])
        forms = [(f"{one}({source})", (rows, columns)),
                 (f"{two}({source}, {same})", (rows, columns)),
                 (f"transpose({source})", (columns, rows)),
                 (f"flip({source}, axes: [{choose.randrange(2)}])", (rows, columns)),
                 (f"pad({source}, pads: [1, 0, 2, 3])", (rows + 3, columns + 3)),
                 (f"concat({source}, {same}, axis: 1)", (rows, 2 * columns)),
                 (f"{reduction}({source}, axes: [1], keepdims: true)", (rows, 1)),
                 (f"slice({source}, starts: [0], ends: [{(rows + 1) // 2}])", ((rows + 1) // 2, columns))]
        if after:
            other = choose.choice(after)
            forms += 2 * [(f"matmul({source}, {other})", (rows, made[other][1]))]
        call, made[f"t{i}"] = choose.choice(forms)
        calls.append(f"t{i} = {call}")
    program = "; ".join([*calls, f"y = mul({list(made)[-1]}, 0.5)"])
    inputs = [name for name in ("x", "z", "w") if re.search(rf"\b{name}\b", program)]
    return program, [f"{name}=float32[{made[name][0]},{made[name][1]}]" for name in inputs]


def call_of(program, types):
    """The options that say a program."""
    return ["--call", program, *(part for text in types for part in ("--input-type", text))]


def export(heddle, folder, source):
    """What compile prints of a page that it writes."""
    done = subprocess.run([heddle, "compile", *source, "--target", "webgpu", "--random", "1", "-o", folder],
                          capture_output=True, text=True, timeout=300)
    if done.returncode:
        sys.exit(f"{os.path.basename(folder)} is not exported:\n{done.stderr}")
    return done.stdout


def exported_open(heddle, folder):
    """Folders of pages for ranges of sizes, each with those of pages for some of them."""
    pages = {}
    for name, (call, types, ranges, sizes) in OPEN_PROGRAMS.items():
        page = os.path.join(folder, name)
        export(heddle, page, [*call_of(call, types), "--bind", ",".join(ranges)])
        pages[page] = []
        for number, bound in enumerate(sizes):
            pages[page].append(f"{page}_{number}")
            export(heddle, pages[page][-1], [*call_of(call, types), "--bind", ",".join(bound)])
    return pages


def exported(heddle, folder):
    """A folder of each program and of each model that is there."""
    sources = {name: call_of(call, types) for name, (call, types, _) in PROGRAMS.items()}
    for seed in SEEDS:
        call, types = random_program(seed)
        sources[f"random_{seed}"] = call_of(call, types)
    for name, options in MODELS.items():
        model = os.path.join(ROOT, ".cache", "models", name + ".onnx")
        if os.path.exists(model):
            sources[name] = [model, *options]
        else:
            print(f"without {name}: scripts/models fetches it")
    folders = []
    for name, source in sources.items():
        folders.append(os.path.join(folder, name))
        printed = export(heddle, folders[-1], source)
        wanted = PROGRAMS.get(name, (None, None, None))[2]
        if wanted is not None and f" {wanted} dispatches" not in printed:
            sys.exit(f"{name} is to be {wanted} dispatches:\n{printed}")
        loader = os.path.getsize(os.path.join(folders[-1], "heddle.js"))
        if loader >= MOST_OF_LOADER:
            sys.exit(f"the loader has {loader} bytes, and is to have fewer than {MOST_OF_LOADER}")
    return folders


def run(command, driver=None, patience=900):
    """Exit status of a command, which sees this Vulkan driver alone; its output is printed."""
    environment = dict(os.environ, **({"VK_ICD_FILENAMES": driver} if driver else {}))
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=patience)
    print("\n".join(line for line in done.stdout.splitlines() if "XDG_RUNTIME_DIR" not in line), flush=True)
    return done.returncode


def modules(folders):
    """All WGSL files: of the folders, and of the corpus of kernels that a test has written."""
    corpus = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "wgsl_corpus", "*.wgsl")
    return sorted(glob.glob(corpus)) + [path for folder in folders for path in sorted(glob.glob(folder + "/*.wgsl"))]


def program(name):
    """Where a program lies that Dawn or Chromium needs."""
    return need(shutil.which(name), name)


def on_node(script):
    """A script of this folder, with Dawn."""
    need(os.path.join(MODULES, "webgpu"), "Dawn for Node")
    return [program("node"), os.path.join(HERE, script), MODULES]


def on_deno(script):
    return [need(DENO, "deno"), "run", "--unstable-webgpu", "--allow-read", os.path.join(HERE, script)]


def in_browser(name):
    """Pages in a browser."""
    return [sys.executable, os.path.join(HERE, "run_browser.py"), program(name)]


def operands(way, folders):
    """What a way looks at."""
    if way in ("tint", "naga"):
        return modules(folders)
    return [path for path in folders if way != "firefox" or os.path.basename(path) in IN_FIREFOX]


# What each way runs, before files or folders, and on which driver.
COMMANDS = {
    "tint": lambda: (on_node("validate_tint.mjs"), None),
    "naga": lambda: (on_deno("validate_naga.mjs"), need(LAVAPIPE, "lavapipe")),
    "dawn": lambda: (on_node("run_dawn.mjs"), need(SWIFTSHADER, "SwiftShader")),
    "deno": lambda: (on_deno("run_deno.mjs"), need(LAVAPIPE, "lavapipe")),
    "chromium": lambda: (in_browser("chromium"), None),
    "firefox": lambda: (in_browser("firefox-esr"), need(LAVAPIPE, "lavapipe")),
}


def main():
    heddle, *ways = sys.argv[1:]
    status = 0
    with tempfile.TemporaryDirectory() as folder:
        try:
            commands = [COMMANDS[way]() for way in ways]  # before anything is exported
        except Missing as missing:
            print(f"SKIP: {missing}")
            sys.exit(SKIP)
        pages = exported_open(heddle, folder)
        folders = exported(heddle, folder) + list(pages)
        for way, (command, driver) in zip(ways, commands):
            status = run([*command, *operands(way, folders)], driver) or status
            if way == "dawn":
                status = run([*on_node("refusals.mjs"), folder], driver) or status
                for page, sizes in pages.items():
                    status = run([*on_node("run_sizes.mjs"), page, *sizes], driver) or status
    sys.exit(status)


if __name__ == "__main__":
    main()
