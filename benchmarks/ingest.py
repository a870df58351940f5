"""Measures ingest: compared with the embedder alone, without embedding, single durable writes, and cold start.

python -m benchmarks.ingest
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import assay
from assay import embed
from assay.types import Chunk
from benchmarks.data import chunks, data_folder, text_of
from benchmarks.measure import percentiles, time_call, write_receipt

EMBEDDED = 1_500
WRITES = 200


def write_pages(folder: Path) -> int:
    """Writes real pages as markdown files; returns their size in bytes."""
    total = 0
    for name in ("gitlab_handbook", "keps", "peps"):
        (folder / name).mkdir(parents=True)
        for number, line in enumerate((data_folder() / name / "corpus.jsonl").open(encoding="utf-8")):
            page = json.loads(line)
            text = f"# {page['title']}\n\n{page['text']}"
            (folder / name / f"{number:05d}.md").write_text(text, "utf-8")
            total += len(text.encode())
    return total


def compare_with_embedder(folder: Path) -> dict[str, Any]:
    """Embeds as many chunks alone as are added to a store; texts contain the time, so that no cache has them."""
    now = time.time_ns()
    records = [{"id": f"r{i}", "text": f"{now + i} {text_of(i)[:900]}"} for i in range(2 * EMBEDDED)]
    model = embed.load("minilm")
    assert model is not None
    model.encode([r["text"] for r in records[:32]])
    alone, _ = time_call(lambda: model.encode([r["text"] for r in records[:EMBEDDED]]))
    with assay.open(folder / "embedded", embedder="minilm") as kb:
        seconds, report = time_call(lambda: kb.add(records[EMBEDDED:]))
    return {
        "embedder_alone_per_s": round(EMBEDDED / alone, 1),
        "added_per_s": round(report.chunks_added / seconds, 1),
        "ratio": round((report.chunks_added / seconds) / (EMBEDDED / alone), 3),
    }


def measure_without_embedding(folder: Path) -> dict[str, Any]:
    """A new process adds and indexes real pages; returns its time and peak memory."""
    size = write_pages(folder / "pages")
    code = f"""
import time, resource, json, assay
kb = assay.open({str(folder / "plain")!r}, embedder="none")
start = time.perf_counter()
report = kb.add({str(folder / "pages")!r}, compact=False)
added = time.perf_counter() - start
kb.optimize()
whole = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([report.chunks_added, added, whole, peak]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    count, added, whole, peak = json.loads(done.stdout)
    return {
        "bytes": size,
        "chunks": count,
        "added_per_s": round(count / added),
        "added_and_indexed_per_s": round(count / whole),
        "peak_mb": round(peak),
    }


def measure_single_writes(folder: Path) -> dict[str, Any]:
    """Writes one chunk durably into a store of 20,000, then searches for it."""
    with assay.open(folder / "single", embedder="none") as kb:
        for part in chunks(20_000):
            kb.backend.put([(chunk, None) for chunk, _ in part])
        kb.optimize()
        kb.search("warm", pipeline="bm25")
        writing, seeing = [], []
        for i in range(WRITES):
            word = f"needle{i}x"
            new = Chunk(f"new-{i:04d}", "new", f"a note about {word}", 5)
            seconds, _ = time_call(lambda c=new: kb.backend.put([(c, None)]))  # type: ignore[misc]
            writing.append(seconds)
            seconds, answer = time_call(lambda w=word: kb.search(w, pipeline="bm25"))  # type: ignore[misc]
            seeing.append(seconds)
            assert answer.chosen.ids.tolist()[0] == new.id, "the next search must see the write"
    return {"write": percentiles(writing), "search_that_sees_it": percentiles(seeing)}


def measure_cold_start(folder: Path) -> dict[str, Any]:
    """Seconds from start to end of a process, fastest of five, with a bare Python for comparison."""
    with assay.open(folder / "cold", embedder="minilm") as kb:
        kb.add([{"id": f"r{i}", "text": text_of(i)[:600]} for i in range(300)])
        kb.optimize()

    def fastest(*command: str) -> float:
        runs = []
        for _ in range(5):
            start = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            runs.append(time.perf_counter() - start)
        return round(min(runs), 3)

    store = str(folder / "cold")
    return {
        "python_s": fastest(sys.executable, "-c", "pass"),
        "import_assay_s": fastest(sys.executable, "-c", "import assay"),
        "import_assay_and_open_s": fastest(sys.executable, "-c", "import assay; assay.open"),
        "assay_search_s": fastest(
            sys.executable, "-m", "assay.cli", "search", "how do I rotate the signing key?", "--store", store
        ),
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        measured = {
            "without_embedding": measure_without_embedding(folder),
            "one_at_a_time": measure_single_writes(folder),
            "cold_start": measure_cold_start(folder),
            "against_the_embedder": compare_with_embedder(folder),
        }
    plain, single, cold = (measured[k] for k in ("without_embedding", "one_at_a_time", "cold_start"))
    measured["summary"] = {
        "ingest with the model, over the model alone": measured["against_the_embedder"]["ratio"],
        "chunks per second without embedding, added": plain["added_per_s"],
        "chunks per second without embedding, added and indexed": plain["added_and_indexed_per_s"],
        "largest memory of that run, MB": plain["peak_mb"],
        "one durable write, p50 / p95 ms": f"{single['write']['p50_ms']} / {single['write']['p95_ms']}",
        "the search that sees it, p50 / p95 ms": " / ".join(str(v) for v in single["search_that_sees_it"].values()),
        "`assay search`, process start to answer, s": cold["assay_search_s"],
        "`import assay`, s (bare Python beside it)": f"{cold['import_assay_s']} ({cold['python_s']})",
    }
    print(json.dumps(measured, indent=1))
    print(write_receipt("ingest", measured))


if __name__ == "__main__":
    main()
