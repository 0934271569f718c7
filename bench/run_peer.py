"""One engine, one model, in a process of its own: prints {"load_ms", "run_ms": [...], "peak_bytes"} as JSON.

The resident peak is the process's, without what Python, NumPy and the inputs took before the engine was imported.

    python bench/run_peer.py onnxruntime|openvino MODEL.onnx INPUTS.npz THREADS SECONDS
"""
import json
import sys
import time

import numpy as np


def resident(name):
    """VmRSS or VmHWM, in bytes."""
    for line in open("/proc/self/status", encoding="utf-8"):
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    return 0


def onnxruntime_session(path, threads):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def onnxruntime_runner(path, feeds, threads):
    session = onnxruntime_session(path, threads)
    return lambda: session.run(None, feeds)


def openvino_runner(path, feeds, threads):
    import openvino
    core = openvino.Core()
    model = core.read_model(path)
    model.reshape({name: list(array.shape) for name, array in feeds.items()})
    compiled = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads,
                                                 "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1})
    request = compiled.create_infer_request()
    for name, array in feeds.items():
        request.set_tensor(name, openvino.Tensor(array, shared_memory=True))
    return request.infer


def main():
    engine, path, inputs, threads, seconds = sys.argv[1:]
    feeds = dict(np.load(inputs))
    before = resident("VmRSS")
    begin = time.perf_counter()
    run = {"onnxruntime": onnxruntime_runner, "openvino": openvino_runner}[engine](path, feeds, int(threads))
    run()
    load = time.perf_counter() - begin
    times, end = [], time.perf_counter() + float(seconds)
    while len(times) < 5 or (time.perf_counter() < end and len(times) < 2000):
        begin = time.perf_counter()
        run()
        times.append((time.perf_counter() - begin) * 1e3)
    print(json.dumps({"load_ms": load * 1e3, "run_ms": times, "peak_bytes": resident("VmHWM") - before}))


if __name__ == "__main__":
    main()
