"""node_tests.py: the operators' own tests, made by the generators of the onnx package, as files.

In:    a folder; names of operators, or none for all.
Out:   NAME.onnx for each test, and tests.tsv: a line for each with its name, operator, and for every
       input and output its dtype, sizes and the file of its bytes; "-" for one that is left out.
"""
import sys
import warnings

import numpy as np

warnings.filterwarnings("ignore")
from onnx.backend.test.case.node import collect_testcases  # noqa: E402

NAMES = {"float32": "f32", "float64": "f64", "float16": "f16", "int32": "i32", "int64": "i64",
         "uint8": "u8", "bool": "bool", "bfloat16": "bf16"}


def column(folder, name, value):
    """A value as "dtype sizes file", or what it is where it has no dtype here."""
    if value is None:
        return "-"
    if isinstance(value, (list, tuple, str, dict)):
        return "?"
    array = np.asarray(value)
    dtype = NAMES.get(str(array.dtype))
    if dtype is None:
        return "?"
    with open(f"{folder}/{name}", "wb") as f:
        f.write(array.tobytes())
    return f"{dtype} {','.join(map(str, np.shape(value)))} {name}"


def main(folder, wanted):
    lines = []
    for test in collect_testcases(None):
        nodes = test.model.graph.node
        if test.model is None or len(nodes) != 1 or (wanted and nodes[0].op_type not in wanted):
            continue
        with open(f"{folder}/{test.name}.onnx", "wb") as f:
            f.write(test.model.SerializeToString())
        inputs, outputs = test.data_sets[0]
        row = [test.name, nodes[0].op_type, str(len(inputs))]
        row += [column(folder, f"{test.name}.in{i}", v) for i, v in enumerate(inputs)]
        row += [column(folder, f"{test.name}.out{i}", v) for i, v in enumerate(outputs)]
        lines.append("\t".join(row))
    with open(f"{folder}/tests.tsv", "w") as f:
        f.write("\n".join(lines) + "\n")


main(sys.argv[1], set(sys.argv[2:]))
