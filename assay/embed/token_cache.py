"""Caches token codes: the newest in memory, the others in a file shared by processes.

Codes are stored byte for byte, so a cold and a warm cache give the same scores.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from assay.embed.cache_home import cache_home
from assay.embed.token_codes import Codes, TokenCoder
from assay.embed.vector_cache import hash_text
from assay.util.disk_cache import DiskCache

BATCH = 64  # texts between two reports of progress


class CachedTokens:
    """Returns the codes of texts; `coder` computes only those that neither memory nor the file holds.

    `max_bytes` bounds the file, `memory` the bytes in memory; both drop the least recently used first. `hits` and
    `misses` count distinct texts per call. Safe to share between threads.
    """

    def __init__(
        self, coder: TokenCoder, path: Path | None = None, max_bytes: int = 4 << 30, memory: int = 64 << 20
    ) -> None:
        self.coder = coder
        self.disk_cache = DiskCache(cache_home() / "tokens.sqlite" if path is None else path, max_bytes)
        self.hits = self.misses = 0
        self._max_memory = memory
        self._lock = threading.Lock()
        self._in_memory: OrderedDict[bytes, Codes] = OrderedDict()
        self._bytes = 0

    def codes(self, texts: Sequence[str]) -> list[Codes]:
        """Return what `coder.encode(texts)` returns, read-only."""
        keys = [hash_text(b"tokens", text) for text in texts]
        distinct = dict(zip(keys, texts, strict=True))
        known = self._recall(distinct)
        absent = [key for key in distinct if key not in known]
        read = {key: self.coder.from_bytes(raw) for key, raw in self.disk_cache.get(self.coder.digest, absent).items()}
        missing = {key: distinct[key] for key in absent if key not in read}
        fresh = dict(zip(missing, self.coder.encode(list(missing.values())), strict=True)) if missing else {}
        self.disk_cache.put(self.coder.digest, {key: codes.tobytes() for key, codes in fresh.items()})
        self.hits += len(distinct) - len(fresh)
        self.misses += len(fresh)
        self._remember({**read, **fresh})
        known |= read | fresh
        return [known[key] for key in keys]

    def fill(self, texts: Iterable[str], progress: Callable[[int], None] = lambda _: None) -> int:
        """Compute the codes of all texts that are not cached; return their number. `progress` gets the texts done."""
        before, done = self.misses, 0
        for batch in _batches(texts):
            self.codes(batch)
            done += len(batch)
            progress(done)
        return self.misses - before

    def close(self) -> None:
        self.disk_cache.close()

    def _recall(self, keys: Iterable[bytes]) -> dict[bytes, Codes]:
        with self._lock:
            known = {key: self._in_memory[key] for key in keys if key in self._in_memory}
            for key in known:
                self._in_memory.move_to_end(key)
        return known

    def _remember(self, new: dict[bytes, Codes]) -> None:
        with self._lock:
            for key, codes in new.items():
                if key not in self._in_memory:
                    codes.flags.writeable = False
                    self._in_memory[key] = codes
                    self._bytes += codes.nbytes
            while self._bytes > self._max_memory:
                _, oldest = self._in_memory.popitem(last=False)
                self._bytes -= oldest.nbytes


def _batches(texts: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(texts)
    while batch := list(islice(rest, BATCH)):
        yield batch
