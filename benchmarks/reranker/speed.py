"""Measures pairs per second at search time: the cross-encoder, and late interaction on cached and on fresh tokens.

One run, contenders alternating question by question, over the same 20 texts per question; read the ratios."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from assay.embed.bert import open_encoder
from assay.embed.token_codes import open_coder
from assay.rerank.max_sim import max_sim
from assay.rerank.pair_reader import PairReader
from assay.util.atomic_files import atomic_path
from benchmarks import data
from benchmarks.measure import time_in_turns

POOL, QUESTIONS, MAX_TOKENS = 20, 6, 160


def measure_speed(folder: str) -> dict[str, Any]:
    """Pairs per second of each contender (at its median), and how many times slower than the present step it is."""
    queries = data.questions()[0][:QUESTIONS]
    pools = [[data.text_of(number * POOL + place) for place in range(POOL)] for number in range(QUESTIONS)]
    encoder = open_encoder("minilm", workers=1)
    coder, fine = open_coder(encoder, 1), open_coder(encoder, 8)
    kept = [coder.encode(pool) for pool in pools]
    reader = PairReader(folder, "", MAX_TOKENS)
    contenders: dict[str, Callable[[int], Any]] = {
        "late_interaction, cached tokens": lambda n: max_sim(fine.encode([queries[n]])[0], kept[n], both=True),
        "late_interaction, fresh tokens": lambda n: max_sim(
            fine.encode([queries[n]])[0], coder.encode(pools[n]), both=True
        ),
        "cross_encoder": lambda n: reader.logits(queries[n], pools[n]),
    }
    times = time_in_turns(contenders, QUESTIONS)
    base = times["late_interaction, cached tokens"]["p50_ms"]
    return {
        name: {
            **time,
            "pairs_per_second": round(POOL / time["p50_ms"] * 1000.0, 1),
            "ratio": round(time["p50_ms"] / base, 2),
        }
        for name, time in times.items()
    }


def measure_training(weights: Mapping[str, Any], pairs: int = 20, tokens: int = 110) -> dict[str, Any]:
    """Trained pairs per second (forward and backward through the upper layers) in float32 and in bf16, in turns."""
    import numpy as np
    import torch

    from benchmarks.reranker.encoder import DIM
    from benchmarks.reranker.joint import JointEncoder, join_pairs

    torch.set_num_threads(2)
    model, rng = JointEncoder(weights), np.random.default_rng(0)
    query = [rng.standard_normal((14, DIM)).astype(np.float32)] * pairs
    batch = join_pairs(query, [rng.standard_normal((tokens - 14, DIM)).astype(np.float32) for _ in range(pairs)])

    def step(bf16: bool) -> None:
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            model(batch).sum().backward()

    times = time_in_turns({"float32": lambda _: step(False), "bf16": lambda _: step(True)}, 3)
    return {
        name: {**time, "pairs_per_second": round(pairs / time["p50_ms"] * 1000.0, 1)} for name, time in times.items()
    }


def update_speed(path: Path, speed: Mapping[str, Any], training: Mapping[str, Any]) -> None:
    """Add the times to the receipt of the judgement."""
    content = json.loads(path.read_text("utf-8"))
    content["measured"]["speed"] = {"pool": POOL, "max_tokens": MAX_TOKENS, **speed}
    content["measured"]["training_speed"] = dict(training)
    with atomic_path(path) as target:
        Path(target).write_text(json.dumps(content, indent=1) + "\n", "utf-8")
