"""Token codes that were computed before: the newest in memory, the others on a shelf for many processes.

What is kept is what the coder gave, byte for byte, so a cold and a warm cache give the same scores.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from assay.embed.cache import key_of
from assay.embed.home import home
from assay.embed.tokens import Codes, TokenCoder
from assay.util.disk_cache import DiskCache

BATCH = 64  # texts between two reports of progress


class CachedTokens:
    """The codes of texts, asked of `coder` only where neither memory nor the shelf has them.

    `max_bytes` bounds the file, `memory` the bytes held here; in both the least recently used go first. `hits` and
    `misses` count distinct texts per call. Safe to share between threads.
    """

    def __init__(
        self, coder: TokenCoder, path: Path | None = None, max_bytes: int = 4 << 30, memory: int = 64 << 20
    ) -> None:
        self.coder = coder
        self.shelf = DiskCache(home() / "tokens.sqlite" if path is None else path, max_bytes)
        self.hits = self.misses = 0
        self._memory = memory
        self._lock = threading.Lock()
        self._near: OrderedDict[bytes, Codes] = OrderedDict()
        self._weight = 0

    def codes(self, texts: Sequence[str]) -> list[Codes]:
        """What `coder.encode(texts)` gives, read-only."""
        keys = [key_of(b"tokens", text) for text in texts]
        distinct = dict(zip(keys, texts, strict=True))
        known = self._recall(distinct)
        far = [key for key in distinct if key not in known]
        read = {key: self.coder.from_bytes(raw) for key, raw in self.shelf.get(self.coder.digest, far).items()}
        missing = {key: distinct[key] for key in far if key not in read}
        fresh = dict(zip(missing, self.coder.encode(list(missing.values())), strict=True)) if missing else {}
        self.shelf.put(self.coder.digest, {key: codes.tobytes() for key, codes in fresh.items()})
        self.hits += len(distinct) - len(fresh)
        self.misses += len(fresh)
        self._remember({**read, **fresh})
        known |= read | fresh
        return [known[key] for key in keys]

    def fill(self, texts: Iterable[str], heard: Callable[[int], None] = lambda _: None) -> int:
        """Make the codes of all texts ahead of time; how many were not there yet. `heard` is told how many are done."""
        before, done = self.misses, 0
        for some in _batches(texts):
            self.codes(some)
            done += len(some)
            heard(done)
        return self.misses - before

    def close(self) -> None:
        self.shelf.close()

    def _recall(self, keys: Iterable[bytes]) -> dict[bytes, Codes]:
        with self._lock:
            known = {key: self._near[key] for key in keys if key in self._near}
            for key in known:
                self._near.move_to_end(key)
        return known

    def _remember(self, new: dict[bytes, Codes]) -> None:
        with self._lock:
            for key, codes in new.items():
                if key not in self._near:
                    codes.flags.writeable = False
                    self._near[key] = codes
                    self._weight += codes.nbytes
            while self._weight > self._memory:
                _, oldest = self._near.popitem(last=False)
                self._weight -= oldest.nbytes


def _batches(texts: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(texts)
    while some := list(islice(rest, BATCH)):
        yield some
