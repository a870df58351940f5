"""Measures adding and indexing a large folder without embedding: time, and memory over all processes.

python -m benchmarks.large_folder --gigabytes 5

The folder consists of real passages without repeated paragraphs: each joins halves of two passages and names a ticket
of its own, so that the vocabulary grows with the folder. Most files have ten to a hundred kilobytes; one file of each
large kind holds 2 % of all bytes. A new process adds the folder and builds the index, while this one samples the memory
of that process and its subprocesses twice a second.
"""

from __future__ import annotations

import argparse
import csv
import html
import json
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count, islice
from pathlib import Path
from typing import IO, Any

from benchmarks.data import text_of, texts
from benchmarks.measure import write_receipt

LIMIT_MB = 1_536
SECONDS_BETWEEN = 0.5
LARGE_SHARE = 0.02

Paragraph = tuple[int, str, str]
"""Its number, a title, a text."""
_ADD_SCRIPT = """
import json, sys, time
import assay
start = time.perf_counter()
def report_phase(phase, **facts):
    print(json.dumps({"phase": phase, "at": time.perf_counter() - start, **facts}), flush=True)
kb = assay.open(sys.argv[1], embedder="none")
report_phase("adding")
report = kb.add(sys.argv[2], compact=False)
report_phase("indexing", files=report.added, chunks=report.chunks_added, problems=report.problems[:5])
kb.optimize()
report_phase("done", digest=kb.backend.generation.digest)
kb.close()
"""


# -- writing the folder


def paragraphs() -> Iterator[Paragraph]:
    """Endless paragraphs without repetition."""
    for number in count():
        lap = number // len(texts())  # pairs the same first half with another second half in every lap
        first, second = text_of(number % len(texts())), text_of((number * 31 + lap * 101 + 7) % len(texts()))
        title, _, body = first.partition("\n")
        _, _, other = second.partition("\n")
        half = body[: body.rfind(" ", 0, max(1, len(body) // 2)) + 1]
        yield number, title[:80], f"Ticket T-{number * 2654435761 % (1 << 32):08x}. {half}{other[len(other) // 2 :]}"


def markdown(file: IO[str], items: Iterator[Paragraph]) -> None:
    for position, (number, title, text) in enumerate(items):
        file.write(f"# {title}\n\n" if not position else f"## {title}\n\n" if number % 4 == 0 else "")
        file.write(f"{text}\n\n")


def plain_text(file: IO[str], items: Iterator[Paragraph]) -> None:
    for _, _, text in items:
        file.write(f"{text}\n\n")


def html_page(file: IO[str], items: Iterator[Paragraph]) -> None:
    file.write("<!doctype html><html lang='en'><body><main>")
    for position, (_, title, text) in enumerate(items):
        head = f"<h1>{html.escape(title)}</h1>" if not position else ""
        file.write(f"{head}<p>{html.escape(text)}</p>\n")
    file.write("</main></body></html>")


def json_lines(file: IO[str], items: Iterator[Paragraph]) -> None:
    for number, title, text in items:
        file.write(json.dumps({"id": f"r{number}", "title": title, "text": text, "bucket": number % 100}) + "\n")


def csv_table(file: IO[str], items: Iterator[Paragraph]) -> None:
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow(("id", "title", "text", "year"))
    rows.writerows((f"t{number}", title, text, 1990 + number % 35) for number, title, text in items)


Writer = Callable[[IO[str], Iterator[Paragraph]], None]
KINDS: dict[str, Writer] = {"md": markdown, "txt": plain_text, "html": html_page, "jsonl": json_lines, "csv": csv_table}
LARGE = ("jsonl", "txt", "csv", "md")


def make_folder(folder: Path, size: int) -> int:
    """Writes files of about `size` bytes in total; returns their exact size."""
    items = paragraphs()
    sizes = [_write_file(folder / f"large.{kind}", kind, items, int(size * LARGE_SHARE)) for kind in LARGE]
    total, number = sum(sizes), 0
    while total < size:
        kind = list(KINDS)[number % len(KINDS)]
        position = folder / f"{number // 500:04d}" / f"{number:06d}.{kind}"
        total += _write_file(position, kind, items, 10_000 + number * 7919 % 90_000)
        number += 1
    return total


def _write_file(path: Path, kind: str, items: Iterator[Paragraph], size: int) -> int:
    """Writes a file of about `size` bytes; returns its exact size."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        KINDS[kind](file, _take_bytes(items, size))
    return path.stat().st_size


def _take_bytes(items: Iterator[Paragraph], size: int) -> Iterator[Paragraph]:
    while size > 0:
        for number, title, text in islice(items, 1):
            size -= len(text)
            yield number, title, text


# -- memory of a process


def process_family(pid: int) -> list[int]:
    """A process and its descendants."""
    found = [pid]
    for parent in found:
        with suppress(OSError):
            for task in Path(f"/proc/{parent}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
    return found


def memory_mb(pid: int) -> tuple[float, float]:
    """The proportional set sizes (a page shared by n processes counts 1/n in each) of a family, summed: all of it,
    and without the pages of files, which the system may take back at any time."""
    total = anonymous = 0
    for member in process_family(pid):
        with suppress(OSError):
            for line in Path(f"/proc/{member}/smaps_rollup").read_text().splitlines():
                name, _, value = line.partition(":")
                total += int(value.split()[0]) if name == "Pss" else 0
                anonymous += int(value.split()[0]) if name == "Pss_Anon" else 0
    return total / 1024, anonymous / 1024


class MemoryWatch:
    """Samples the memory of a process and its subprocesses and keeps the peak of each phase."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.phase = "starting"
        self.peak: dict[str, tuple[float, float]] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()

    def _sample(self) -> None:
        while not self._ended.wait(SECONDS_BETWEEN):
            phase, (total, anonymous) = self.phase, memory_mb(self.pid)
            before = self.peak.get(phase, (0.0, 0.0))
            self.peak[phase] = max(before[0], total), max(before[1], anonymous)

    def end(self) -> None:
        self._ended.set()
        self._thread.join()


def measure_adding(store: Path, folder: Path) -> dict[str, Any]:
    """Adds and indexes a folder in a new process; returns times, counts and the peak memory of each phase."""
    process = subprocess.Popen(
        [sys.executable, "-c", _ADD_SCRIPT, str(store), str(folder)], stdout=subprocess.PIPE, text=True
    )
    memory = MemoryWatch(process.pid)
    assert process.stdout is not None
    events: dict[str, dict[str, Any]] = {}
    try:
        for line in process.stdout:
            event = json.loads(line)
            events[event["phase"]] = event
            memory.phase = event["phase"]
            print(line, memory.peak, flush=True)
    except BaseException:
        process.kill()
        raise
    finally:
        memory.end()
    if process.wait() or "done" not in events:
        raise SystemExit(f"the process that adds the folder ended with {process.returncode}")
    chunks = events["indexing"]["chunks"]
    result: dict[str, Any] = {"files": events["indexing"]["files"], "chunks": chunks}
    for phase, after in (("adding", "indexing"), ("indexing", "done")):
        seconds = events[after]["at"] - events[phase]["at"]
        total, anonymous = memory.peak[phase]
        result[phase] = {
            "seconds": round(seconds, 1),
            "chunks_per_s": round(chunks / seconds),
            "peak_mb": round(total),
            "peak_mb_without_file_pages": round(anonymous),
        }
    assert not events["indexing"]["problems"], events["indexing"]["problems"]
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=5.0)
    parser.add_argument("--receipt", default="large_folder")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))  # so that the folder is removed
    with tempfile.TemporaryDirectory(prefix="assay-large-") as temporary:
        size = make_folder(Path(temporary) / "folder", int(options.gigabytes * 1e9))
        print(f"{size:,} bytes", flush=True)
        result = measure_adding(Path(temporary) / "kb", Path(temporary) / "folder")
        stored = sum(path.stat().st_size for path in (Path(temporary) / "kb").rglob("*") if path.is_file())
    measured: dict[str, Any] = {"bytes": size, "store_bytes": stored, **result, "limit_mb": LIMIT_MB}
    for name in ("peak_mb", "peak_mb_without_file_pages"):
        measured[name] = max(result[phase][name] for phase in ("adding", "indexing"))
        measured[f"{name}_over_limit"] = round(measured[name] / LIMIT_MB, 3)
    print(json.dumps(measured, indent=1))
    print(write_receipt(options.receipt, measured))


if __name__ == "__main__":
    main()
