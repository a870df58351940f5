"""Opens an ONNX model with one thread inside, so that a call gives the same bits on any machine load."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assay.errors import ModelError


def open_session(path: Path, cure: str, *, optimise: bool = True) -> Any:
    """Open an onnxruntime session on the CPU. Several threads may call it at once.

    `optimise=False` runs the graph as written: such graphs load faster and do not change with the optimiser of
    the next onnxruntime.
    """
    import onnxruntime as ort

    ort.disable_telemetry_events()
    options = ort.SessionOptions()
    options.log_severity_level = 4  # it would write to the terminal what it raises as an error anyway
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    if not optimise:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has an exception class for each way a file can be wrong
        raise ModelError(f"{path} cannot be loaded: {str(error).splitlines()[0]}", cure) from error
