"""Receipts, pipelines and recordings of strangers that name programs, hosts and environment variables."""

from __future__ import annotations

import contextlib
import json
import os
import random
import socket
import stat
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import assay
from assay import replay as recordings
from assay.bench import lab
from assay.bench.datasets import load
from assay.bench.receipt import Receipt, compute_digest, read
from assay.bench.replay import replay
from assay.bench.runner import RunPlan
from assay.bench.systems import load_systems
from assay.bench.workspace import IndexSettings, prepare
from assay.config import load as config
from assay.errors import AssayError
from benchmarks.torture.task import Task, summarise

ABOUT = "hostile receipts, pipelines and recordings: no program started, no byte sent, no variable shown"
FULL, SHORT = 200, 12
CONTROL, CONTROL_SHORT = 70, 20
"""Trials that are run again with everything allowed, to see that they would act; none names a host but this one."""
MUST_ACT = ("qmd", "qmd_http", "store", "provider_rerank")
"""Components of which at least one trial must act when it is allowed to. The others need a vector, which the store
under attack has not."""
ACTED = ("a program was started", "bytes were sent", "a variable was shown")
CANARY = "CANARY_KEY"
SECRET = "c4n4ry-value-that-nobody-may-see"
_KINDS = ("receipt", "pipeline", "recording", "embedder", "dataset")
_WATCHED = frozenset(
    {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "socket.connect", "socket.sendto"}
)


class Watch:
    """Everything that this process starts or contacts while it is on, seen by the interpreter itself."""

    def __init__(self) -> None:
        self.on = False
        self.seen: list[str] = []
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.on and event in _WATCHED and not _is_own_worker(event, arguments):
            self.seen.append(f"{event} {arguments[:2]}"[:200])

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        self.seen, self.on = [], True
        try:
            yield
        finally:
            self.on = False


def _is_own_worker(event: str, arguments: tuple[Any, ...]) -> bool:
    """Is this a worker process of Assay's own? They are started whoever wrote the receipt."""
    return event in ("os.posix_spawn", "subprocess.Popen") and list(arguments[1])[:3] == [sys.executable, "-P", "-m"]


class Listener:
    """A port on the loopback interface that counts who connects."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.connections = 0
        self.received = b""
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            client.settimeout(0.2)
            with contextlib.suppress(OSError):
                self.received += client.recv(65_536)
            client.close()

    def close(self) -> None:
        self._socket.close()


def _draw_url(draw: random.Random, port: int) -> str:
    host = draw.choice(["127.0.0.1", "localhost", "LOCALHOST", "127.1", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]"])
    user = draw.choice(["", "", "", "", "", "user:pass@"])
    path = draw.choice(["", "/", "/v1/rerank", "/v1/rerank", "/../..", f"/?k=${CANARY}"])
    return f"{draw.choice(['http', 'HTTP', 'https'])}://{user}{host}:{port}{path}"


def _draw_source(draw: random.Random, program: Path, port: int) -> dict[str, Any]:
    command = draw.choice(
        [str(program), f"{program} --flag", f"./{program.name}", f"sh -c {program}", f"env {CANARY}=1 {program}", "sh"]
    )
    address = f"127.0.0.1:{port}"
    return draw.choice(
        [
            {"use": "qmd", "command": command},
            {"use": "qmd", "command": command, "collection": f"$({program})"},
            {"use": "qmd_http", "url": _draw_url(draw, port)},
            {"use": "store", "path": f"postgres://ada@{address}/kb"},
            {"use": "store", "path": f"postgresql://{address}/kb?host={address}"},
            {"use": "store", "path": f"qdrant://{address}/kb"},
            {"use": "qdrant_collection", "address": f"qdrant://{address}/kb", "key_env": CANARY},
            {"use": "lance_table", "path": f"s3://{address}/books", "table": "t"},
            {"use": "lance_table", "path": f"db://{address}/books", "table": "t"},
            {"use": "lance_table", "path": _draw_url(draw, port), "table": "t"},
        ]
    )


def _draw_step(draw: random.Random, port: int) -> dict[str, Any]:
    provider = draw.choice(["jina", "jina_shaped", "cohere", "voyage", "pinecone", "siliconflow", "dashscope", "tei"])
    return {"use": "provider_rerank", "provider": provider, "endpoint": _draw_url(draw, port), "key_env": CANARY}


def draw_spec(draw: random.Random, program: Path, port: int) -> dict[str, Any]:
    """A pipeline that would act if it could."""
    source = {"source": _draw_source(draw, program, port)}
    shape = draw.randrange(5)
    if shape in (0, 1) and draw.random() < 0.3:
        source["required"] = True
    if shape == 0:
        return {"legs": {"x": source}}
    if shape == 1:
        return {"legs": {"bm25": {}, "x": source}, "fuse": {"use": "rrf"}}
    if shape == 2:
        inner = {"legs": {"bm25": {}, "x": source}, "fuse": {"use": "rrf"}}
        return {"legs": {"outer": {"legs": {"deep": inner}}}} if draw.random() < 0.5 else {"legs": {"outer": inner}}
    if shape == 3:
        return {"legs": {"bm25": {"norm": "ideal"}}, "step": [_draw_step(draw, port)]}
    return {"legs": {"bm25": {"norm": "ideal"}, "x": source}, "fuse": {"use": "rrf"}, "step": [_draw_step(draw, port)]}


class Workbench:
    """An honest receipt, store and recording, which the trials forge."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.mark = folder / "started"
        self.program = folder / "canary.sh"
        self.program.write_text(f"#!/bin/sh\ntouch {self.mark}\necho '[]'\n")
        self.program.chmod(self.program.stat().st_mode | stat.S_IXUSR)
        self.listener = Listener()
        self.watch = Watch()
        found = load("tiny")
        with prepare(found, IndexSettings(embedder="none"), cache=folder / "cache") as workspace:
            result = lab.run(found, load_systems(["bm25"]), workspace, RunPlan(("nDCG@10",)))
        self.receipt = result.receipts["bm25"]
        self.base = assay.open(folder / "kb", embedder="none")
        self.base.add([{"id": "a", "text": "how to rotate the signing key"}])
        answer = self.base.search("signing key", pipeline="bm25")
        self.recording = recordings.record(answer, config.load("bm25"))

    def close(self) -> None:
        self.listener.close()
        self.base.close()

    def run(self, kind: str, spec: Mapping[str, Any], url: str, number: int) -> str:
        """Use one forged piece of data as a user would; the text that a user would see."""
        if kind == "pipeline":
            path = self.folder / f"{number}.toml"
            path.write_text("".join(f"{key} = {_to_toml(value)}\n" for key, value in spec.items()))
            pipeline = config.from_dict(spec) if number % 2 else str(path)
            return str(self.base.search("signing key", pipeline=pipeline).status)
        if kind == "recording":
            forged = json.loads(json.dumps({**self.recording, "pipeline": spec}))
            return str(recordings.replay(recordings.loads(json.dumps(forged)), self.base).hint)
        canonical = json.loads(json.dumps(self.receipt.canonical))
        if kind == "receipt":
            canonical["system"]["spec"] = spec
        elif kind == "embedder":
            canonical["index"]["embedder"] = f"http:{url}#model"
        else:
            canonical["dataset"]["source"] = f"ir_datasets:beir/{number}" if number % 2 else url
        result = replay(self._reread(canonical, number))
        return " ".join((result.outcome, *result.details))

    def _reread(self, canonical: Mapping[str, Any], number: int) -> Receipt:
        """A receipt whose digest was computed anew, as anybody can."""
        path = self.folder / f"receipt{number}.json"
        content = {**json.loads(self.receipt.dumps()), "canonical": canonical, "digest": compute_digest(canonical)}
        path.write_text(json.dumps(content))
        return read(path)


def _to_toml(value: Any) -> str:
    """A value as TOML writes it on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_to_toml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_to_toml, value)) + "]"
    return json.dumps(value)


def campaign(task: Task) -> dict[str, Any]:
    os.environ[CANARY] = SECRET
    os.environ.pop("ASSAY_ALLOW", None)
    bench = Workbench(task.stores / "workbench")
    try:
        results = task.each(task.count(FULL, SHORT), lambda number: _try(number, bench))
        sent_before = bench.listener.received
        os.environ["ASSAY_ALLOW"] = "program:*,host:*,variable:*"
        control = [_try(number, bench) for number in range(task.count(CONTROL, CONTROL_SHORT))]
        sent_after = bench.listener.received
    finally:
        bench.close()
        for name in (CANARY, "ASSAY_ALLOW"):
            os.environ.pop(name, None)
    report = summarise(results, [*ACTED, "an exception"])
    acted = [one for one in control if one["outcome"] in ACTED]
    by_component = {
        use: sum(use in one["uses"] for one in acted) for use in sorted({u for o in control for u in o["uses"]})
    }
    if not acted:
        report["failures"].append("with everything allowed nothing was started or sent: the trials prove nothing")
    for use in MUST_ACT if not task.short else ():
        if not by_component.get(use):
            report["failures"].append(f"with everything allowed no {use} acted: the trials of it prove nothing")
    if sent_before:
        report["failures"].append("bytes arrived though nothing was allowed")
    if SECRET.encode() not in sent_after and not task.short:
        report["failures"].append("with everything allowed the variable was not sent: its trials prove nothing")
    return {
        **report,
        "acted_when_allowed": f"{len(acted)} of {len(control)}",
        "acted_by_component": by_component,
        "variable_sent_when_allowed": SECRET.encode() in sent_after,
        "kinds": {kind: sum(one["kind"] == kind for one in results) for kind in _KINDS},
    }


def _try(number: int, bench: Workbench) -> dict[str, Any]:
    draw = random.Random(number)
    kind = draw.choice(_KINDS[:3] if number % 10 else _KINDS)
    spec = draw_spec(draw, bench.program, bench.listener.port)
    url = _draw_url(draw, bench.listener.port)
    before = bench.listener.connections
    what = f"{number} {kind} {json.dumps(spec)[:150]}"
    outcome, shown = "ran and did nothing", ""
    with bench.watch.watching():
        try:
            shown = bench.run(kind, spec, url, number)
            if shown.startswith("not replayable"):
                outcome = "refused"
        except AssayError as error:
            outcome, shown = "refused", str(error)
        except Exception as error:
            outcome, what = "an exception", f"{what} {type(error).__name__}: {error}"[:400]
    if bench.mark.exists() or any("socket" not in event for event in bench.watch.seen):
        outcome, what = "a program was started", f"{what} {bench.watch.seen}"
        bench.mark.unlink(missing_ok=True)
    elif bench.listener.connections != before or bench.watch.seen:
        outcome, what = "bytes were sent", f"{what} {bench.watch.seen}"
    elif SECRET in shown:
        outcome = "a variable was shown"
    return {"outcome": outcome, "what": what, "kind": kind, "uses": sorted(_find_uses(spec))}


def _find_uses(spec: Any) -> set[str]:
    """The components that a spec names."""
    if isinstance(spec, Mapping):
        own = {spec["use"]} if isinstance(spec.get("use"), str) else set()
        return own.union(*(_find_uses(value) for value in spec.values()))
    return set().union(*(_find_uses(value) for value in spec)) if isinstance(spec, list) else set()
