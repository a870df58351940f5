"""Yes-or-no questions to a language model: several samples at temperature 0, the majority counts, answers are cached.

A sample that is neither yes nor no is void; so is one for which the server failed. Without a majority among the samples
that are left there is no judgement.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from assay.embed.cache_home import cache_home
from assay.embed.chat import ChatModel
from assay.errors import AssayError, ModelError
from assay.util.disk_cache import DiskCache

SAMPLES = 3
MOST_FAILURES = 3
"""Questions in a row without any answer from the server, after which it is not asked any more."""
CACHE_BYTES = 256 << 20
_WORD = re.compile(r"[^\W\d_]+")
Sample = Literal["yes", "no", "void", "failed"]


class JudgeFailed(AssayError):
    """The language model cannot be reached; what it said before is cached."""

    exit_code = 3


@dataclass(frozen=True, slots=True)
class Vote:
    """The samples of one question. `yes` is None where there is no majority."""

    samples: tuple[Sample, ...]

    @property
    def yes(self) -> bool | None:
        yes, no = self.samples.count("yes"), self.samples.count("no")
        return None if yes == no else yes > no

    @property
    def is_unanimous(self) -> bool:
        return len(set(self.samples)) == 1


@dataclass
class ChatVotes:
    """Asks a model. `version` is part of the cache's key: a changed prompt asks again."""

    chat: ChatModel
    version: str
    samples: int = SAMPLES
    path: Path | None = None
    reason: str = ""
    """Why the last sample failed."""
    _failures: int = 0
    _cache: DiskCache = field(init=False)

    def __post_init__(self) -> None:
        self._cache = DiskCache(self.path or cache_home() / "judgements.sqlite", CACHE_BYTES)

    def ask_text(self, prompt: str, sample: int = 0) -> str | None:
        """The model's answer to a prompt, from the cache where it is there; None where the server failed."""
        model, key = f"{self.chat.url}#{self.chat.model}", self._key(prompt, sample)
        known = self._cache.get(model, [key]).get(key)
        if known is not None:
            return known.decode("utf-8")
        try:
            text = self.chat.ask(prompt)
        except ModelError as error:
            self.reason = error.message
            return None
        self._cache.put(model, {key: text.encode("utf-8", "replace")})
        return text

    def vote(self, prompt: str) -> Vote:
        """Ask for yes or no several times. JudgeFailed once the server answers nothing any more."""
        samples: list[Sample] = []
        for number in range(self.samples):
            text = self.ask_text(prompt, number)
            samples.append("failed" if text is None else read_vote(text))
        self._failures = self._failures + 1 if set(samples) == {"failed"} else 0
        if self._failures >= MOST_FAILURES:
            raise JudgeFailed(
                f"the judge answered none of {self._failures} questions in a row: {self.reason}",
                "check the address and run the same command again; what it answered is cached",
            )
        return Vote(tuple(samples))

    def close(self) -> None:
        self._cache.close()

    def _key(self, prompt: str, sample: int) -> bytes:
        return hashlib.sha256(f"{self.version}\0{sample}\0{prompt}".encode("utf-8", "surrogatepass")).digest()


def read_vote(text: str) -> Sample:
    """The first word decides: yes or no, anything else is void."""
    first = _WORD.search(text)
    word = first[0].casefold() if first else ""
    return "yes" if word == "yes" else "no" if word == "no" else "void"


def count_samples(votes: Sequence[Vote]) -> dict[str, int]:
    """How many samples were what."""
    every = [sample for vote in votes for sample in vote.samples]
    return {kind: every.count(kind) for kind in ("yes", "no", "void", "failed")}
