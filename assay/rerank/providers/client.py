"""Asks a provider for the scores of some texts: batches, circuit breaker, deadline."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass

from assay.errors import ConfigError
from assay.rerank.providers.breaker import Breakers
from assay.rerank.providers.response import ProviderScores, ScoreScale, UnreadableResponse, join_scores, parse_scores
from assay.rerank.providers.table import ProviderFormat
from assay.rerank.providers.transport import ProviderError, ProviderRequest, post

BREAKERS = Breakers(time.monotonic)
"""The breakers of this process; they outlive the stages that use them."""


@dataclass(frozen=True, slots=True)
class ProviderTarget:
    """A provider with a stage's settings: a row of the table, with overrides applied."""

    provider: str
    url: str
    model: str
    key_env: str
    scale: ScoreScale
    wire: ProviderFormat
    timeout_s: float
    deadline_s: float
    max_texts: int = 0

    def __str__(self) -> str:
        return f"{self.provider} ({self.model})" if self.model else self.provider


def read_key(name: str) -> str:
    """Read a key from an environment variable; empty when it is not set. The key is stored nowhere.

    ConfigError, without the value, for text that cannot be a key: the HTTP library would repeat it in its error.
    """
    key = os.environ.get(name, "").strip()
    if not all("!" <= letter <= "~" for letter in key):
        raise ConfigError(f"the environment variable {name} holds something that is not a key", "set it again")
    return key


def request_scores(target: ProviderTarget, key: str, query: str, texts: Sequence[str]) -> ProviderScores:
    """Score each text. ProviderError when the breaker is open or no score is usable."""
    breaker = BREAKERS.get(target.provider, target.url)
    if not breaker.admits():
        raise ProviderError("it is not asked for now", endpoint_fault=False)
    start, batch_size = time.monotonic(), target.max_texts or len(texts)
    batches = []
    try:
        for first in range(0, len(texts), batch_size):
            remaining = target.deadline_s - (time.monotonic() - start if first else 0.0)
            batches.append(_request_batch(target, key, query, texts[first : first + batch_size], max(remaining, 0.001)))
    except ProviderError as error:
        if error.endpoint_fault:
            breaker.record_failure()
        raise
    breaker.record_success()
    return join_scores(batches)


def breaker_state(target: ProviderTarget) -> str:
    """Describe the state of a target's breaker."""
    return BREAKERS.get(target.provider, target.url).state


def _request_batch(
    target: ProviderTarget, key: str, query: str, texts: Sequence[str], deadline_s: float
) -> ProviderScores:
    """Send one request."""
    wire = target.wire
    request = ProviderRequest(
        url=target.url,
        headers={**wire.headers, **({wire.key_header: f"{wire.key_prefix}{key}"} if key else {})},
        body=wire.body(target.model, _replace_surrogates(query), [_replace_surrogates(text) for text in texts]),
        key=key,
        key_env=target.key_env,
        timeout_s=target.timeout_s,
        deadline_s=deadline_s,
    )
    return _read_response(target, post(request), len(texts))


def _read_response(target: ProviderTarget, answer: object, count: int) -> ProviderScores:
    try:
        scores = parse_scores(target.wire.read(answer), count, target.scale)
    except UnreadableResponse as error:
        raise ProviderError(f"the answer has {error}", "check the address and the provider's name") from None
    if not scores.returned:
        rejected = "".join(f", {count} {kind}" for kind, count in scores.rejected)
        raise ProviderError(f"the answer has no usable score{rejected}", "check the address and the provider's name")
    return scores


def _replace_surrogates(text: str) -> str:
    """Replace lone surrogates by "?": JSON carries valid Unicode only."""
    return text.encode("utf-8", "replace").decode("utf-8")
