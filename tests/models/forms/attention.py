"""Attention: heads in groups, masks of all types and shapes, caches inside and outside, what softmax is taken of."""
import numpy as np

from case import Case


def attention(random):
    kind = [np.float32, np.float32, np.float16, np.float64][random.integers(4)]
    batch, keys_heads, groups = random.integers(1, 4), random.integers(1, 4), random.integers(1, 4)
    heads, queries, keys = keys_heads * groups, random.integers(1, 9), random.integers(1, 12)
    size, value_size = (int(n) for n in random.integers(1, 9, 2))
    opset, flat = int(random.choice([23, 24])), random.random() < 0.4

    def normal(*shape):
        value = random.standard_normal(shape)
        return (value.transpose(0, 2, 1, 3).reshape(shape[0], shape[2], -1) if flat else value).astype(kind)

    inputs = {"Q": normal(batch, heads, queries, size), "K": normal(batch, keys_heads, keys, size),
              "V": normal(batch, keys_heads, keys, value_size), "mask": None, "past_key": None, "past_value": None}
    past = int(random.integers(0, 7)) if random.random() < 0.4 else None
    if past is not None:
        for name, width in (("past_key", size), ("past_value", value_size)):
            inputs[name] = random.standard_normal((batch, keys_heads, past, width)).astype(kind)
    all_keys = keys + (past or 0)
    if random.random() < 0.6:
        shape = [int(n) if random.random() < 0.7 else 1 for n in (batch, heads, queries)][random.integers(3):] + [int(all_keys)]
        shape[-2] = int(queries)  # peers ask for this one
        allowed = random.random(shape) < random.choice([0.2, 0.7])
        inputs["mask"] = allowed if random.random() < 0.5 else \
            np.where(allowed, random.standard_normal(shape), -np.inf if random.random() < 0.5 else -3).astype(kind)
    if opset == 24 and past is None and random.random() < 0.5:
        inputs["lengths"] = random.integers(0, keys + 1, batch)
    attributes = {"is_causal": int(random.integers(2))}
    if flat:
        attributes |= {"q_num_heads": int(heads), "kv_num_heads": int(keys_heads)}
    if random.random() < 0.3:
        attributes["scale"] = float(random.random())
    if random.random() < 0.3:
        attributes["softcap"] = float(random.random() * 3 + 0.5)
    if random.random() < 0.3:
        attributes["softmax_precision"] = int(random.choice([1, 10, 11]))
    if random.random() < 0.7:
        attributes["qk_matmul_output_mode"] = int(random.integers(4))
    present = past is not None
    case = Case("Attention", opset, inputs, attributes,
                ["Y", "present_key" if present else "", "present_value" if present else "",
                 "scores" if "qk_matmul_output_mode" in attributes else ""],
                tolerance=2e-3 if kind is np.float16 or attributes.get("softmax_precision") == 10 else 1e-5)
    results, case.notes["empty"] = expected(case)
    case.truth = [value for value, name in zip(results, case.outputs) if name]
    return case


def expected(case):
    """(results, whether a query may see no key), in double, as the errata of opset 24 say; they hold for 23 as well."""
    inputs, attributes = case.inputs, case.attributes
    heads, key_heads = attributes.get("q_num_heads"), attributes.get("kv_num_heads")
    softcap = attributes.get("softcap")
    q, k, v = (None if value is None else value.astype(np.float64) for value in (inputs["Q"], inputs["K"], inputs["V"]))
    if q.ndim == 3:
        q, k, v = (value.reshape(*value.shape[:2], count, -1).transpose(0, 2, 1, 3)
                   for value, count in ((q, heads), (k, key_heads), (v, key_heads)))
    if inputs["past_key"] is not None:
        k = np.concatenate([inputs["past_key"].astype(np.float64), k], axis=2)
        v = np.concatenate([inputs["past_value"].astype(np.float64), v], axis=2)
    present = k, v
    k, v = (np.repeat(value, q.shape[1] // value.shape[1], axis=1) for value in (k, v))
    queries, keys, lengths = q.shape[2], k.shape[2], inputs.get("lengths")
    scores = product = attributes.get("scale", q.shape[3] ** -0.5) * (q @ k.swapaxes(2, 3))
    if softcap:
        scores = softcap * np.tanh(scores / softcap)
    capped = scores
    if inputs["mask"] is not None:
        mask = inputs["mask"]
        wide = np.full(mask.shape[:-1] + (keys,), False if mask.dtype == bool else -np.inf)
        wide[..., :mask.shape[-1]] = mask
        scores = np.where(wide, scores, -np.inf) if mask.dtype == bool else scores + wide
    own = np.arange(queries)[None, :, None]
    if inputs["past_key"] is not None:
        own = own + inputs["past_key"].shape[2]
    elif lengths is not None:
        own = own + (lengths - queries)[:, None, None]
    allowed = (np.arange(keys) <= own if attributes["is_causal"] else np.ones((1, 1, keys), bool))[:, None]
    if lengths is not None:
        allowed = allowed & (np.arange(keys) < lengths[:, None])[:, None, None]
    scores = np.where(allowed, scores, -np.inf)
    top = scores.max(axis=-1, keepdims=True)
    share = np.exp(scores - np.where(np.isinf(top), 0, top))
    total = share.sum(axis=-1, keepdims=True)
    share = np.divide(share, total, out=np.zeros_like(share), where=total > 0)
    result = share @ v
    if inputs["Q"].ndim == 3:
        result = result.transpose(0, 2, 1, 3).reshape(*inputs["Q"].shape[:2], -1)
    shown = (product, capped, scores, share)[attributes.get("qk_matmul_output_mode", 0)]
    return [value.astype(inputs["Q"].dtype) for value in (result, *present, shown)], bool((total == 0).any())


FORMS = {"attention": attention}


# (form, peer, where it is wrong, why)
DIFFERENCES = [
    ("attention", "reference", lambda case: case.attributes["is_causal"] and case.inputs["mask"] is not None and case.inputs["mask"].dtype == bool,
     "onnx 1.22 multiplies a boolean mask by an infinity: no numbers"),
    ("attention", "reference", lambda case: case.attributes["is_causal"] and case.inputs.get("lengths") is not None,
     "onnx 1.22 is older than the errata: the first query sees the first key"),
    ("attention", "reference", lambda case: case.attributes.get("softcap") and case.attributes.get("qk_matmul_output_mode") == 0,
     "onnx 1.22 shows the products after softcap"),
    ("attention", "reference", lambda case: case.notes["empty"], "onnx 1.22 is older than the errata: a query that sees no key has no numbers"),
    ("attention", "ONNX Runtime", lambda case: case.inputs["Q"].dtype == np.float64
     and (case.notes["empty"] or case.attributes["is_causal"] and case.inputs["mask"] is not None),
     "1.31 mends rows that see nothing, and keys that are hidden twice, for float32 and float16 only"),
    ("attention", "ONNX Runtime", lambda case: case.attributes.get("qk_matmul_output_mode") == 2,
     "hides keys by the lowest finite number"),
    ("attention", "ONNX Runtime", lambda case: case.attributes["is_causal"] and case.inputs["past_key"] is not None and case.inputs["Q"].shape[-2 if case.inputs["Q"].ndim == 4 else 1] == 1,
     "takes a single query for one that sees all keys, though several are new"),
]
