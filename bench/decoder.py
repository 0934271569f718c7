"""A decoder that speaks: each token hands the cache back, longer by one, so that every run has a length of its own. Heddle beside
ONNX Runtime, in turn, each in a process of its own; the same tokens again, at lengths that were seen before; and the time that is
not spent in kernels. Prints medians a token, and writes bench/results/decoder.json.

The models are exported by PyTorch (bench/decoder_torch.py) when they are first asked for; "tiny" is there.

    python bench/decoder.py [--threads 1,2] [--rounds 3] [--tokens 200] [--quick] [tiny|27m|110m...]
"""
import json
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "build/python")]

import numpy as np

import peer_environment
import reports
import run_peer

TINY = ROOT / "tests/models/decoder.onnx"
MODELS = ["tiny", "27m", "110m"]
ENGINES = ["heddle", "onnxruntime"]
BEGUN = 16  # tokens in the cache before the first


def model_file(name):
    if name == "tiny":
        return TINY
    path = ROOT / f".cache/models/decoder-{name}.onnx"
    if not path.exists():
        python = peer_environment.python_with("torch")
        path.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([python, str(ROOT / "bench/decoder_torch.py"), name, str(path)], check=True, capture_output=True)
    return path


def opened(engine, path, threads):
    if engine == "heddle":
        import heddle
        heddle.use_cache(None)
        return heddle.InferenceSession(path, threads=threads)
    return run_peer.onnxruntime_session(path, threads)


def said(session, tokens):
    """Milliseconds of each run, and the words: the likeliest ones."""
    names = [port.name for port in session.get_inputs()]
    random = np.random.default_rng(0)
    caches = [random.standard_normal([BEGUN if isinstance(size, str) else size for size in port.shape], dtype=np.float32)
              for port in session.get_inputs()[1:]]
    word, times, words = 1, [], []
    for _ in range(tokens):
        feeds = dict(zip(names, [np.array([[word]]), *caches]))
        begin = time.perf_counter()
        logits, *caches = session.run(None, feeds)
        times.append((time.perf_counter() - begin) * 1e3)
        word = int(logits[0, -1].argmax())
        words.append(word)
    return times, words, feeds


def speak(engine, path, threads, tokens):
    """One process: what it measured, as JSON."""
    before = run_peer.resident("VmRSS")
    session = opened(engine, path, int(threads))
    times, words, feeds = said(session, int(tokens))
    peak = run_peer.resident("VmHWM") - before
    again, _, _ = said(session, int(tokens))
    measured = {"first_ms": times[0], "new_ms": statistics.median(times[1:]), "again_ms": statistics.median(again[1:]),
                "all_ms": sum(times[1:]), "words": words, "peak_bytes": peak}
    if engine == "heddle":
        measured["kernels_ms"] = sum(launch.microseconds for launch in session.profile(feeds, runs=10)) / 1e3
    print(json.dumps(measured))


def measure(path, threads, rounds, tokens):
    """By engine, the medians of its rounds; the words of all must be the same."""
    runs = {engine: [] for engine in ENGINES}
    for _ in range(rounds):
        for engine in ENGINES:
            done = subprocess.run([sys.executable, __file__, "--speak", engine, str(path), str(threads), str(tokens)],
                                  capture_output=True, text=True, check=True)
            runs[engine].append(json.loads(done.stdout.splitlines()[-1]))
    words = [run.pop("words") for run in sum(runs.values(), [])]
    if any(other != words[0] for other in words):
        raise ValueError("the engines do not say the same words")
    return {engine: {column: statistics.median(run[column] for run in rows) for column in rows[0]} for engine, rows in runs.items()}


def main():
    if sys.argv[1:2] == ["--speak"]:
        return speak(*sys.argv[2:])
    parser = reports.parser(__doc__, "a size; without any, 27m and 110m")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=200)
    options = parser.parse_args()
    models = reports.chosen(parser, options.names, MODELS) if options.names else MODELS[1:]
    if options.quick:
        models, options.threads, options.rounds, options.tokens = ["tiny"], "1", 1, 5
    report = {"cpu": reports.cpu_name(), "tokens": options.tokens, "results": []}
    for model in models:
        try:
            path = model_file(model)
        except peer_environment.Unavailable as problem:
            print(f"SKIP {model}: torch: {problem}", flush=True)
            continue
        for threads in map(int, options.threads.split(",")):
            rows = measure(path, threads, options.rounds, options.tokens)
            for engine, row in rows.items():
                print(f"{model:5} {threads} threads {engine:12} first {row['first_ms']:7.1f} ms, a token {row['new_ms']:7.2f}, at lengths seen "
                      f"before {row['again_ms']:7.2f}{f', kernels {kernels:7.2f}' if (kernels := row.get('kernels_ms')) else ''}, peak "
                      f"{row['peak_bytes'] / 1e6:5.0f} MB", flush=True)
            ours, theirs = (rows[engine]["all_ms"] for engine in ENGINES)
            print(f"{model:5} {threads} threads: {ours / theirs:.2f} of ONNX Runtime's time", flush=True)
            report["results"].append({"model": model, "threads": threads, "engines": rows, "ratio": ours / theirs})
    print(f"wrote {reports.shown(reports.write(options, 'decoder.json', report))}")


if __name__ == "__main__":
    main()
