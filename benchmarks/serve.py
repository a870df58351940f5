"""Measures `assay serve` against the same search in this process: latency of one client, throughput of sixteen.

The answer is the same in both: `/search` returns `Answer.to_json()` as bytes, and so does the search in this process.
Queries are real questions whose vectors are in the vector cache of both. Latency alternates query by query; throughput
alternates in blocks of some seconds. The clients are one light process (`benchmarks/load_client.py`) whose processor
time is reported; the search in this process has as many threads as the server has workers, and one thread for
comparison: the threads share one interpreter, so more of them answer fewer.

    python -m benchmarks.serve --size 100000
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count, islice
from pathlib import Path
from statistics import median
from typing import Any

import assay
from assay.kb import KnowledgeBase
from benchmarks import load_client
from benchmarks.data import model, questions
from benchmarks.measure import time_in_turns, write_receipt
from benchmarks.search import build

WORKERS = 4
CLIENTS = 16
BLOCKS = 5
HEADERS = {"Content-Type": "application/json"}


def encode(kb: KnowledgeBase, text: str) -> bytes:
    """One search in this process, up to the bytes of its answer."""
    return json.dumps(kb.search(text).to_json(), ensure_ascii=False).encode()


class Server:
    """`assay serve` in a process of its own."""

    def __init__(self, store: Path) -> None:
        command = [sys.executable, "-m", "assay.cli", "serve", "--store", str(store), "--address", "0", "--quiet"]
        self._process = subprocess.Popen(
            [*command, "--workers", str(WORKERS), "--waiting", "64"], stderr=subprocess.PIPE, text=True
        )
        assert self._process.stderr is not None
        found = re.search(r"http://([\d.]+):(\d+)", self._process.stderr.readline())
        assert found is not None
        self.host, self.port = found[1], int(found[2])

    def resident_mb(self) -> float:
        lines = Path(f"/proc/{self._process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024.0 for line in lines if line.startswith("VmRSS"))

    def processor_seconds(self) -> float:
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.communicate()


def throughput_here(kb: KnowledgeBase, texts: list[str], seconds: float, threads: int = WORKERS) -> float:
    """Searches a second of so many threads."""
    end, numbers = time.perf_counter() + seconds, count()

    def work() -> int:
        done = 0
        while time.perf_counter() < end:
            encode(kb, texts[next(numbers) % len(texts)])
            done += 1
        return done

    start = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        done = sum(pool.map(lambda _: work(), range(threads)))
    return done / (time.perf_counter() - start)


def throughput_served(server: Server, texts: list[str], seconds: float) -> dict[str, float]:
    """Searches a second of sixteen clients in a process of their own, how many failed, and the milliseconds of the
    processor that the server and the clients took for each."""
    bodies = [json.dumps({"text": text}) for text in texts]
    given = {"host": server.host, "port": server.port, "bodies": bodies, "clients": CLIENTS, "seconds": seconds}
    used = server.processor_seconds()
    ran = subprocess.run(
        [sys.executable, load_client.__file__], input=json.dumps(given), capture_output=True, text=True, check=True
    )
    found: dict[str, float] = json.loads(ran.stdout)
    used = server.processor_seconds() - used
    return {
        "rate": found["done"] / found["seconds"],
        "failed": found["failed"],
        "server_ms": 1000.0 * used / found["done"],
        "clients_ms": 1000.0 * found["processor_seconds"] / found["done"],
    }


def run(store: Path, queries: int, seconds: float) -> dict[str, Any]:
    texts = list(islice(questions()[0], queries))
    with assay.open(store, create=False) as kb:
        for text in texts:
            encode(kb, text)
        server = Server(store)
        try:
            connection = http.client.HTTPConnection(server.host, server.port)

            def served(place: int) -> bytes:
                connection.request("POST", "/search", json.dumps({"text": texts[place]}), HEADERS)
                answer = connection.getresponse()
                body = answer.read()
                assert answer.status == 200, body
                return body

            same = all(
                json.loads(served(i))["digests"] == json.loads(encode(kb, texts[i]))["digests"]
                for i in range(len(texts))
            )
            times = time_in_turns({"in process": lambda i: encode(kb, texts[i]), "served": served}, len(texts))
            connection.close()
            throughput_served(server, texts, seconds)  # its threads have their caches filled
            memory = server.resident_mb()
            here, alone, there = [], [], []
            for _ in range(BLOCKS):
                here.append(throughput_here(kb, texts, seconds))
                there.append(throughput_served(server, texts, seconds))
                alone.append(throughput_here(kb, texts, seconds, threads=1))
            grown = server.resident_mb() - memory
        finally:
            server.close()
    rates = [block["rate"] for block in there]
    return {
        "same answers": same,
        "one client": times,
        "ratios": {
            **{
                f"served / in process, {p}": round(times["served"][p] / times["in process"][p], 3)
                for p in ("p50_ms", "p95_ms")
            },
            "throughput, served / in process": round(median(rates) / median(here), 3),
            "throughput, served / one thread in process": round(median(rates) / median(alone), 3),
        },
        "throughput": {
            "clients": CLIENTS,
            "workers": WORKERS,
            "in process": [round(rate, 1) for rate in here],
            "one thread in process": [round(rate, 1) for rate in alone],
            "served": [round(rate, 1) for rate in rates],
            "failed": sum(block["failed"] for block in there),
            "processor_ms_of_server": round(median(block["server_ms"] for block in there), 3),
            "processor_ms_of_clients": round(median(block["clients_ms"] for block in there), 3),
        },
        "server_mb": round(memory, 1),
        "server_mb_grown": round(grown, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=5.0, help="length of one block of throughput")
    parser.add_argument("--store", type=Path, help="keep the store here, and use it if it is there")
    parser.add_argument("--build-only", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = options.store or Path(folder) / "kb"
        if not (store / "assay.sqlite").exists():
            print(build(store, options.size, model().digest), flush=True)
        if options.build_only:
            return
        measured = {"chunks": options.size, **run(store, options.queries, options.seconds)}
    print(json.dumps(measured, indent=1))
    print(write_receipt("serve", measured))


if __name__ == "__main__":
    main()
