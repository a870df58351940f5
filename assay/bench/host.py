"""The machine a run was measured on, for the measured half of a receipt."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

_INSTRUCTIONS = ("avx2", "fma", "avx_vnni", "avx512f", "avx512_vnni", "amx_int8", "asimddp", "i8mm", "sve")
"""Instruction sets by which onnxruntime chooses its kernels; with others a quantised model rounds differently."""


def describe_host() -> dict[str, Any]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"system": platform.system(), "machine": platform.machine(), "cores": cores, **describe_instructions()}


def describe_instructions() -> dict[str, str]:
    """The processor's instruction sets that matter; empty where the system does not say."""
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8", errors="replace")
    except OSError:
        return {}
    flags = {word for line in text.splitlines() if line.startswith(("flags", "Features")) for word in line.split()}
    return {"instructions": " ".join(name for name in _INSTRUCTIONS if name in flags)}
