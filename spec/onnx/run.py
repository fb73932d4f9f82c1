"""run.py: ONNX files through onnx.checker and onnxruntime.

In:    a folder with cases.tsv: for each case the model's file, then columns "in" or "out", each with a
       dtype, sizes, and the file of its bytes; and the tolerance as the second column.
Out:   a line for each case: its file, a tab, and "ok" or what is wrong.
"""
import sys

import numpy as np
import onnx
import onnxruntime as ort

TYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "i32": np.int32,
         "i64": np.int64, "u8": np.uint8, "bool": np.bool_}
ort.set_default_logger_severity(4)


def array(folder, column):
    dtype, sizes, name = column.split(" ")[1:]
    shape = [int(n) for n in sizes.split(",") if n]
    return np.fromfile(f"{folder}/{name}", TYPES[dtype]).reshape(shape)


def check(folder, path, most, columns):
    """What is wrong with a case, or "ok"."""
    onnx.checker.check_model(f"{folder}/{path}", full_check=True)
    session = ort.InferenceSession(f"{folder}/{path}", providers=["CPUExecutionProvider"])
    inputs = [array(folder, c) for c in columns if c.startswith("in ")]
    wanted = [array(folder, c) for c in columns if c.startswith("out ")]
    feed = {i.name: v for i, v in zip(session.get_inputs(), inputs)}
    got = session.run(None, feed)
    if len(got) != len(wanted):
        return f"{len(got)} outputs, not {len(wanted)}"
    for i, (a, b) in enumerate(zip(got, wanted)):
        if a.dtype != b.dtype or a.shape != b.shape:
            return f"output {i}: {a.dtype}{a.shape}, not {b.dtype}{b.shape}"
        if not np.allclose(a.astype(np.float64), b.astype(np.float64), rtol=most, atol=most,
                           equal_nan=True):
            off = np.abs(a.astype(np.float64) - b.astype(np.float64)).max()
            return f"output {i} is off by {off:g}"
    return "ok"


def main(folder):
    for line in open(f"{folder}/cases.tsv"):
        path, most, *columns = line.rstrip("\n").split("\t")
        try:
            result = check(folder, path, float(most), columns)
        except Exception as e:  # what onnx or onnxruntime say of the file is the result
            result = " ".join(str(e).split())[:300]
        print(f"{path}\t{result}", flush=True)


main(sys.argv[1])
