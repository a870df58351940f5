"""Takes one step on copies of a Lance store; in the n-th trial the n-th write on its files fails (with TIMES > 1 the
following ones too), for every STRIDE-th n. Prints one line of JSON per trial: n, what the step said, the state of the
store, what is wrong with it. Loaded with `benchmarks/torture/_faults.c`.

    python lance_with_faults.py FOLDER STEP TIMES STRIDE
"""

import ctypes
import errno
import json
import os
import shutil
import sys
import warnings
from itertools import count
from pathlib import Path

import numpy as np

from assay.backend.lance.backend import LanceBackend
from assay.backend.lance.store import LanceStore
from assay.errors import AssayError
from assay.text.analyser import Analyser
from assay.types import Chunk, Query

SETTINGS = {"embedder": "hash", "model": "m", "dim": 4, "language": "english", "profile": "default"}
FTS_FROM = 4
"""So few rows have a text index."""


def chunks(first, end):
    vector = np.array([1, 0, 0, 0], np.float32)
    return [(Chunk(f"c{n}", f"d{n}", f"heron number{n}", 2), vector) for n in range(first, end)]


def create_store(path):
    settings = {**SETTINGS, "analyser": Analyser(language="english").digest}
    return LanceBackend(LanceStore.create(path, settings), fts_from=FTS_FROM)


def open_store(path):
    return LanceBackend(LanceStore.open(path), fts_from=FTS_FROM)


def put(backend):
    backend.put(chunks(6, 8))


def remove(backend):
    backend.remove(["c2"])


def compact(backend):
    backend.compact(force=True)


def forget(backend):
    backend.forget(backend.store.version())


def erase(backend):
    backend.erase(["d3"], "erased")


def move(backend):
    """To another model."""
    backend.store.stage("hash", "next", 4)
    vector = np.array([0, 1, 0, 0], np.float32)
    backend.store.put_staged("next", [(seq, vector) for seq in backend.store.rows_without_staged_vector(0, 100)])
    backend.store.adopt("next", "another model")


def read(path):
    """Live chunks with their texts, found through the words and the vectors."""
    backend = open_store(path)
    try:
        view = backend.snapshot()
        rows = view.live_rows(None)
        found = view.ids(view.lexical(Query("heron"), 100).rows).tolist()
        near = view.ids(view.nearest(Query("", vector=np.array([1, 1, 0, 0], np.float32) / 2**0.5), 100).rows).tolist()
        texts = {chunk.id: chunk.text for chunk in view.chunks(rows)}
        assert sorted(found) == sorted(near) == sorted(texts), (found, near, texts)
        return texts
    finally:
        backend.close()


def attempt(place, step, number, times, calls):
    backend = open_store(place)
    calls.value = 0
    os.environ.update(FAULT_CALL="write", FAULT_PATH=str(place), FAULT_AFTER=str(number), FAULT_TIMES=str(times))
    try:
        step(backend)
        return "done"
    except AssayError as error:
        return "refused" if error.cure else "without a cure"
    finally:
        del os.environ["FAULT_CALL"]
        backend.close()


def main():
    warnings.simplefilter("ignore")
    home, name, times, stride = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int((*sys.argv, 1)[4])
    calls = ctypes.c_long.in_dll(ctypes.CDLL(None), "fault_calls")
    os.environ["FAULT_ERRNO"] = str(errno.ENOSPC)
    sound, place = home / "sound.lance", home / "trial.lance"
    backend = create_store(sound)
    backend.put(chunks(0, 5))
    backend.compact(force=True)
    backend.remove(["c1"])
    backend.put(chunks(5, 6))
    backend.close()
    before = read(sound)
    step = globals()[name]
    after = None
    for number in count(1, stride):
        shutil.copytree(sound, place)
        outcome = attempt(place, step, number if after else 1_000_000, times, calls)
        hit = calls.value >= number
        state = check = ""
        try:
            found = read(place)
            after = after or found
            state = "after" if found == after else "before" if found == before else f"half: {found}"
            backend = open_store(place)
            backend.put([(Chunk("late", "late", "heron at last", 3), None)])
            backend.remove(["late"])
            check = backend.store.find_damage(deep=True)
            backend.close()
            found = read(place)
            check = check or ("" if found == (after if state == "after" else before) else f"then {found}")
        except AssayError as error:
            check = str(error)
        sys.stdout.write(json.dumps([number, outcome, state, check]) + "\n")
        shutil.rmtree(place)
        if not hit and number > 1:
            break


def environment(shim):
    return {**os.environ, "LD_PRELOAD": str(shim), "RUST_LOG": "off"}


if __name__ == "__main__":
    main()
