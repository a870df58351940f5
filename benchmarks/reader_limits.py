"""Measures what reader processes cost: folders added with them and without, in turns.

python -m benchmarks.reader_limits
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path
from typing import Any

from benchmarks.data import data_folder
from benchmarks.measure import write_receipt

PAGES = 300
TURNS = 5


def write_folder(folder: Path, suffix: str, count: int) -> None:
    """Writes real pages, as HTML or as markdown."""
    folder.mkdir()
    lines = (data_folder() / "gitlab_handbook" / "corpus.jsonl").open(encoding="utf-8")
    for number, line in zip(range(count), lines, strict=False):
        page = json.loads(line)
        text = page["text"][:8_000]
        if suffix == ".html":
            paragraphs = "".join(f"<p>{escape(one)}</p>" for one in text.split("\n"))
            text = f"<html><head><title>{escape(page['title'])}</title></head><body>{paragraphs}</body></html>"
        (folder / f"{number:04d}{suffix}").write_text(text, "utf-8")


def time_add(folder: Path, workers: str) -> float:
    """Seconds to add a folder in a new process, without embedding, from the second add on (modules are loaded)."""
    code = f"""
import pathlib, sys, time, assay
warm = pathlib.Path(sys.argv[1]) / "warm"
warm.mkdir()
(warm / "a.md").write_text("One sentence.")
with assay.open(warm / "kb", embedder="none") as kb:
    kb.add(warm / "a.md")
with assay.open(pathlib.Path(sys.argv[1]) / "kb", embedder="none") as kb:
    start = time.perf_counter()
    report = kb.add({str(folder)!r}, compact=False)
    print(time.perf_counter() - start, report.files, len(report.problems))
"""
    with tempfile.TemporaryDirectory() as place:
        environment = {**os.environ, "ASSAY_WORKERS": workers}
        if not workers:
            del environment["ASSAY_WORKERS"]
        done = subprocess.run(
            [sys.executable, "-c", code, place], capture_output=True, text=True, check=True, env=environment
        )
    seconds, _, problems = done.stdout.split()
    assert problems == "0"
    return float(seconds)


def compare(folder: Path) -> dict[str, Any]:
    """The fastest of some turns each; a ratio above 1 means that reader processes take longer."""
    count = len(list(folder.iterdir()))
    inside, apart = [], []
    for _ in range(TURNS):
        inside.append(time_add(folder, "0"))
        apart.append(time_add(folder, ""))
    return {
        "files": count,
        "in_process_files_per_s": round(count / min(inside), 1),
        "reader_process_files_per_s": round(count / min(apart), 1),
        "time_ratio": round(min(apart) / min(inside), 3),
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        measured: dict[str, Any] = {}
        for name, suffix, count in (("html", ".html", PAGES), ("markdown", ".md", PAGES), ("one_html", ".html", 1)):
            write_folder(root / name, suffix, count)
            measured[name] = compare(root / name)
    print(json.dumps(measured, indent=1))
    print(write_receipt("reader_limits", measured))


if __name__ == "__main__":
    main()
