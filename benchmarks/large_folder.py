"""A large folder, embedding off: how fast is it added and indexed, and in how much memory over all processes?

python -m benchmarks.large_folder --gigabytes 5

The folder is made of real passages, no two paragraphs alike: each is two halves of different passages and names a
ticket of its own, so that the vocabulary grows with the folder as real ones do. Most files have some ten to a
hundred kilobytes; one of each kind that may be large holds 2 % of all bytes. A fresh process adds it and builds the
index, while this one looks twice a second at its memory and that of its helpers.
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
_ADDS = """
import json, sys, time
import assay
start = time.perf_counter()
def said(phase, **facts):
    print(json.dumps({"phase": phase, "at": time.perf_counter() - start, **facts}), flush=True)
kb = assay.open(sys.argv[1], embedder="none")
said("adding")
report = kb.add(sys.argv[2], compact=False)
said("indexing", files=report.added, chunks=report.chunks_added, problems=report.problems[:5])
kb.optimize()
said("done", digest=kb.backend.generation.digest)
kb.close()
"""


# -- the folder


def paragraphs() -> Iterator[Paragraph]:
    """Without end, no two alike."""
    for number in count():
        lap = number // len(texts())  # the same first half meets another second one in every lap
        first, second = text_of(number % len(texts())), text_of((number * 31 + lap * 101 + 7) % len(texts()))
        title, _, body = first.partition("\n")
        _, _, other = second.partition("\n")
        half = body[: body.rfind(" ", 0, max(1, len(body) // 2)) + 1]
        yield number, title[:80], f"Ticket T-{number * 2654435761 % (1 << 32):08x}. {half}{other[len(other) // 2 :]}"


def markdown(file: IO[str], given: Iterator[Paragraph]) -> None:
    for place, (number, title, text) in enumerate(given):
        file.write(f"# {title}\n\n" if not place else f"## {title}\n\n" if number % 4 == 0 else "")
        file.write(f"{text}\n\n")


def plain(file: IO[str], given: Iterator[Paragraph]) -> None:
    for _, _, text in given:
        file.write(f"{text}\n\n")


def page(file: IO[str], given: Iterator[Paragraph]) -> None:
    file.write("<!doctype html><html lang='en'><body><main>")
    for place, (_, title, text) in enumerate(given):
        head = f"<h1>{html.escape(title)}</h1>" if not place else ""
        file.write(f"{head}<p>{html.escape(text)}</p>\n")
    file.write("</main></body></html>")


def records(file: IO[str], given: Iterator[Paragraph]) -> None:
    for number, title, text in given:
        file.write(json.dumps({"id": f"r{number}", "title": title, "text": text, "bucket": number % 100}) + "\n")


def table(file: IO[str], given: Iterator[Paragraph]) -> None:
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow(("id", "title", "text", "year"))
    rows.writerows((f"t{number}", title, text, 1990 + number % 35) for number, title, text in given)


Writer = Callable[[IO[str], Iterator[Paragraph]], None]
KINDS: dict[str, Writer] = {"md": markdown, "txt": plain, "html": page, "jsonl": records, "csv": table}
LARGE = ("jsonl", "txt", "csv", "md")


def make_folder(folder: Path, size: int) -> int:
    """Files of about so many bytes in all; how many they really have."""
    given = paragraphs()
    made = [_written(folder / f"large.{kind}", kind, given, int(size * LARGE_SHARE)) for kind in LARGE]
    total, number = sum(made), 0
    while total < size:
        kind = list(KINDS)[number % len(KINDS)]
        place = folder / f"{number // 500:04d}" / f"{number:06d}.{kind}"
        total += _written(place, kind, given, 10_000 + number * 7919 % 90_000)
        number += 1
    return total


def _written(path: Path, kind: str, given: Iterator[Paragraph], size: int) -> int:
    """A file of about so many bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        KINDS[kind](file, _up_to(given, size))
    return path.stat().st_size


def _up_to(given: Iterator[Paragraph], size: int) -> Iterator[Paragraph]:
    while size > 0:
        for number, title, text in islice(given, 1):
            size -= len(text)
            yield number, title, text


# -- its memory


def family(pid: int) -> list[int]:
    """A process and all that descend from it."""
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
    for member in family(pid):
        with suppress(OSError):
            for line in Path(f"/proc/{member}/smaps_rollup").read_text().splitlines():
                name, _, value = line.partition(":")
                total += int(value.split()[0]) if name == "Pss" else 0
                anonymous += int(value.split()[0]) if name == "Pss_Anon" else 0
    return total / 1024, anonymous / 1024


class Watch:
    """Looks at the memory of a process and its helpers until it is gone, and keeps the most it saw in each phase."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.phase = "starting"
        self.most: dict[str, tuple[float, float]] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._ended.wait(SECONDS_BETWEEN):
            phase, (total, anonymous) = self.phase, memory_mb(self.pid)
            before = self.most.get(phase, (0.0, 0.0))
            self.most[phase] = max(before[0], total), max(before[1], anonymous)

    def end(self) -> None:
        self._ended.set()
        self._thread.join()


def added(store: Path, folder: Path) -> dict[str, Any]:
    """Add a folder in a fresh process and index it; times, counts, and the most memory of each phase."""
    process = subprocess.Popen(
        [sys.executable, "-c", _ADDS, str(store), str(folder)], stdout=subprocess.PIPE, text=True
    )
    watch = Watch(process.pid)
    assert process.stdout is not None
    said: dict[str, dict[str, Any]] = {}
    try:
        for line in process.stdout:
            event = json.loads(line)
            said[event["phase"]] = event
            watch.phase = event["phase"]
            print(line, watch.most, flush=True)
    except BaseException:
        process.kill()
        raise
    finally:
        watch.end()
    if process.wait() or "done" not in said:
        raise SystemExit(f"the process that adds the folder ended with {process.returncode}")
    chunks = said["indexing"]["chunks"]
    result: dict[str, Any] = {"files": said["indexing"]["files"], "chunks": chunks}
    for phase, after in (("adding", "indexing"), ("indexing", "done")):
        seconds = said[after]["at"] - said[phase]["at"]
        total, anonymous = watch.most[phase]
        result[phase] = {
            "seconds": round(seconds, 1),
            "chunks_per_s": round(chunks / seconds),
            "peak_mb": round(total),
            "peak_mb_without_file_pages": round(anonymous),
        }
    assert not said["indexing"]["problems"], said["indexing"]["problems"]
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=5.0)
    parser.add_argument("--receipt", default="large_folder")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))  # so that the folder is removed
    with tempfile.TemporaryDirectory(prefix="assay-large-") as temporary:
        size = make_folder(Path(temporary) / "folder", int(asked.gigabytes * 1e9))
        print(f"{size:,} bytes", flush=True)
        result = added(Path(temporary) / "kb", Path(temporary) / "folder")
        stored = sum(path.stat().st_size for path in (Path(temporary) / "kb").rglob("*") if path.is_file())
    measured: dict[str, Any] = {"bytes": size, "store_bytes": stored, **result, "limit_mb": LIMIT_MB}
    for name in ("peak_mb", "peak_mb_without_file_pages"):
        measured[name] = max(result[phase][name] for phase in ("adding", "indexing"))
        measured[f"{name}_over_limit"] = round(measured[name] / LIMIT_MB, 3)
    print(json.dumps(measured, indent=1))
    print(write_receipt(asked.receipt, measured))


if __name__ == "__main__":
    main()
