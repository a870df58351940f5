"""Ask a provider: query and texts in, one score per text out, or Trouble that says why not."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass

from assay.errors import ConfigError
from assay.rerank.providers.answer import ProviderScores, ScoreScale, Unreadable, joined, judged
from assay.rerank.providers.breaker import Breakers
from assay.rerank.providers.post import ProviderRequest, Trouble, post
from assay.rerank.providers.table import ProviderFormat

BREAKERS = Breakers(time.monotonic)
"""Of this process: stages come and go, an endpoint stays dead."""


@dataclass(frozen=True, slots=True)
class Target:
    """A provider as a stage wants it asked: the table's row with the stage's settings in place."""

    provider: str
    url: str
    model: str
    key_env: str
    scale: ScoreScale
    wire: ProviderFormat
    timeout_s: float
    deadline_s: float
    at_once: int = 0

    def __str__(self) -> str:
        return f"{self.provider} ({self.model})" if self.model else self.provider


def key_from_env(name: str) -> str:
    """The key in an environment variable; empty when there is none. Read when it is used, and kept nowhere.

    ConfigError, without the value, for what cannot be a key: the HTTP library would repeat it in its own error.
    """
    key = os.environ.get(name, "").strip()
    if not all("!" <= letter <= "~" for letter in key):
        raise ConfigError(f"the environment variable {name} holds something that is not a key", "set it again")
    return key


def ask(target: Target, key: str, query: str, texts: Sequence[str]) -> ProviderScores:
    """What the provider thinks of each text. Trouble when its breaker is open, or when not one score can be used."""
    breaker = BREAKERS.of(target.provider, target.url)
    if not breaker.admits():
        raise Trouble("it is not asked for now", counts=False)
    begun, step = time.monotonic(), target.at_once or len(texts)
    said = []
    try:
        for place in range(0, len(texts), step):
            left = target.deadline_s - (time.monotonic() - begun if place else 0.0)
            said.append(_asked(target, key, query, texts[place : place + step], max(left, 0.001)))
    except Trouble as trouble:
        if trouble.counts:
            breaker.failed()
        raise
    breaker.succeeded()
    return joined(said)


def state_of(target: Target) -> str:
    """The breaker of a target, in words."""
    return BREAKERS.of(target.provider, target.url).state


def _asked(target: Target, key: str, query: str, texts: Sequence[str], deadline_s: float) -> ProviderScores:
    """One request."""
    wire = target.wire
    request = ProviderRequest(
        url=target.url,
        headers={**wire.headers, **({wire.key_header: f"{wire.key_prefix}{key}"} if key else {})},
        body=wire.body(target.model, _clean(query), [_clean(text) for text in texts]),
        key=key,
        key_env=target.key_env,
        timeout_s=target.timeout_s,
        deadline_s=deadline_s,
    )
    return _believed(target, post(request), len(texts))


def _believed(target: Target, answer: object, asked: int) -> ProviderScores:
    try:
        judgement = judged(target.wire.read(answer), asked, target.scale)
    except Unreadable as error:
        raise Trouble(f"the answer has {error}", "check the address and the provider's name") from None
    if not judgement.returned:
        odd = "".join(f", {count} {kind}" for kind, count in judgement.odd)
        raise Trouble(f"the answer has no usable score{odd}", "check the address and the provider's name")
    return judgement


def _clean(text: str) -> str:
    """JSON carries valid Unicode only: a lone surrogate becomes "?"."""
    return text.encode("utf-8", "replace").decode("utf-8")
