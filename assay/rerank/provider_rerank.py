"""Provider rerank: an external service scores query and text (memory pipeline). A failure loses no candidate."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from assay.embed.endpoint import Endpoint
from assay.engine.checks import check_choice, check_number, check_whole, require_unit
from assay.engine.facts import chunks_of
from assay.engine.order import arrange, top
from assay.errors import AssayError, ConfigError, Reason
from assay.protocols import Snapshot
from assay.rerank.cosine import Cosine
from assay.rerank.late_interaction import LateInteraction
from assay.rerank.providers.client import ProviderTarget, breaker_state, read_key, request_scores
from assay.rerank.providers.response import ProviderScores
from assay.rerank.providers.table import PROVIDERS, ProviderFormat
from assay.rerank.providers.transport import ProviderError
from assay.types import Note, Part, Query, Range, Ranking
from assay.util.permissions import Effect, describe_cure, find_forbidden, host_effect

MODES = ("cross-encoder", "lightweight", "none")
SCALES = ("", "unit", "logit")
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")


_NO_VECTOR = Reason("the query has no vector")


@dataclass(frozen=True, slots=True)
class ProviderRerank:
    """Blends a rerank provider's judgement into the first `pool` candidates, as the memory pipeline does.

        returned      score = blend · judgement + (1 − blend) · score
        not returned  score = unreturned · score            (left out by the provider, without text, or beyond the pool)
        fallback      score = (1 − cosine_weight) · score + cosine_weight · cos(query, chunk)

    `mode` is "cross-encoder" (a provider reads), "lightweight" (the fallback's formula, nothing is asked) or "none".
    `provider` is a row of the table in docs/rerankers.md; an empty `endpoint`, `model`, `key_env` or `scale` takes that
    row's. A judgement on the scale "unit" is clipped to [0, 1]; a "logit" passes a sigmoid.

    The key is read from the environment variable `key_env` when the stage runs; it is stored and shown nowhere. A
    provider is asked only if the user allows its host and, where it needs a key, that variable: a key in the
    environment alone sends nothing. Without permission or key it is not asked: late interaction with `local_model`
    reranks instead (as it does for the provider "local", with its own blend), or the fallback if that model is not
    installed. The fallback also applies when a provider fails, exceeds `timeout_s` seconds for one try or `deadline_s`
    for all, or the query has no text. A provider that fails repeatedly is not asked for a while. Notes say what
    happened, and no candidate is lost.
    Needs and gives unit scores.
    """

    needs: ClassVar[frozenset[str]] = frozenset()

    mode: str = "cross-encoder"
    provider: str = "jina"
    endpoint: str = ""
    model: str = ""
    key_env: str = ""
    scale: str = ""
    local_model: str = "minilm"
    pool: int = 20
    blend: float = 0.6
    unreturned: float = 0.8
    cosine_weight: float = 0.3
    timeout_s: float = 5.0
    deadline_s: float = 5.0

    def __post_init__(self) -> None:
        check_choice("provider_rerank.mode", self.mode, MODES)
        check_choice("provider_rerank.provider", self.provider, PROVIDERS)
        check_choice("provider_rerank.scale", self.scale, SCALES)
        check_whole("provider_rerank.pool", self.pool, 2)
        for name in ("blend", "unreturned", "cosine_weight"):
            check_number(f"provider_rerank.{name}", getattr(self, name), 0.0, 1.0)
        check_number("provider_rerank.timeout_s", self.timeout_s, 0.001)
        check_number("provider_rerank.deadline_s", self.deadline_s, 0.001)
        if self.deadline_s < self.timeout_s:
            raise ConfigError(
                f"provider_rerank.deadline_s = {self.deadline_s:g} is below timeout_s = {self.timeout_s:g}",
                "the deadline is for all tries together: raise it, or lower timeout_s",
            )
        if self.key_env and not _VARIABLE.fullmatch(self.key_env):
            # The message omits the value: it may be the key itself.
            raise ConfigError(
                "provider_rerank.key_env is not the name of an environment variable",
                "name a variable in capitals, such as JINA_API_KEY, and put the key into it",
            )
        self._check_unused_settings()

    def _check_unused_settings(self) -> None:
        """Refuse settings that have no effect: "local" has no endpoint. All other providers need a valid one."""
        row = PROVIDERS[self.provider]
        if row.wire is None:
            unread = [name for name in ("endpoint", "model", "key_env", "scale") if getattr(self, name)]
            if unread:
                raise ConfigError(
                    f"provider_rerank.{unread[0]} has no effect with provider = {self.provider!r}",
                    "leave it out; its model is local_model",
                )
        else:
            Endpoint(self.endpoint or row.url, self.key_env or row.key_env)

    def effects(self) -> tuple[Effect, ...]:
        """The provider's host and the variable of its key; nothing where no provider is asked."""
        row = PROVIDERS[self.provider]
        if self.mode != "cross-encoder" or row.wire is None:
            return ()
        variable = self.key_env or row.key_env
        return (host_effect(self.endpoint or row.url), *((Effect("variable", variable),) if variable else ()))

    def apply(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        if not len(ranking) or self.mode == "none":
            return ranking
        if self.mode == "lightweight":
            return self._rerank_by_cosine(query, ranking, snapshot)
        if not query.text.strip():
            return self._rerank_by_cosine(
                query, ranking, snapshot, Note("skipped", "there is no text in the query to read")
            )
        wire = PROVIDERS[self.provider].wire
        if wire is None:
            return self._rerank_locally(query, ranking, snapshot)
        return self._rerank_remotely(query, ranking, snapshot, self._target(wire))

    def _target(self, wire: ProviderFormat) -> ProviderTarget:
        row = PROVIDERS[self.provider]
        return ProviderTarget(
            provider=self.provider,
            url=self.endpoint or row.url,
            model=self.model or row.model,
            key_env=self.key_env or row.key_env,
            scale="logit" if (self.scale or row.scale) == "logit" else "unit",
            wire=wire,
            timeout_s=self.timeout_s,
            deadline_s=self.deadline_s,
            max_texts=row.max_texts,
        )

    def _rerank_remotely(self, query: Query, ranking: Ranking, snapshot: Snapshot, target: ProviderTarget) -> Ranking:
        try:
            key, needs_key = read_key(target.key_env), PROVIDERS[self.provider].needs_key
            if not key and needs_key:
                # Running without a key is a choice, so this is no degradation; a missing local model is.
                why = f"{target} was not asked: no key in {target.key_env}"
                return self._rerank_locally(query, ranking, snapshot, Note("info", why))
            forbidden = find_forbidden(self.effects())
            if any(effect.kind == "host" or needs_key for effect in forbidden):
                why = f"{target} was not asked: not allowed to {forbidden[0].sentence}"
                note = Note("info", why, cure=describe_cure(forbidden))
                return self._rerank_locally(query, ranking, snapshot, note)
            if forbidden:  # the host is allowed and needs no key, so the variable stays unread
                key = ""
            texts = [chunk.indexed_text if chunk else "" for chunk in chunks_of(top(ranking, self.pool), snapshot)]
            places = np.array([place for place, text in enumerate(texts) if text.strip()], np.intp)
            if not len(places):
                return self._rerank_by_cosine(
                    query, ranking, snapshot, Note("skipped", "no candidate has a text to read")
                )
            provider_scores = request_scores(target, key, query.text, [texts[place] for place in places])
        except ProviderError as error:
            why = f"{target} did not judge: {error.what}; breaker {breaker_state(target)}"
            return self._rerank_by_cosine(query, ranking, snapshot, Note("degraded", why, cure=error.cure))
        except AssayError as error:
            why = f"{target} was not asked: {error.message}"
            return self._rerank_locally(query, ranking, snapshot, Note("degraded", why, cure=error.cure))
        return self._blend(ranking, places, provider_scores).noted(*_notes(str(target), provider_scores))

    def _blend(self, ranking: Ranking, places: NDArray[np.intp], provider_scores: ProviderScores) -> Ranking:
        scores_by_place = np.full(len(ranking), np.nan)
        scores_by_place[places] = provider_scores.scores
        returned = ~np.isnan(scores_by_place)
        parts = [
            Part("rerank.keep", "mul", np.where(returned, 1.0 - self.blend, 1.0)),
            Part("rerank", "add", np.where(returned, self.blend * scores_by_place, 0.0)),
        ]
        if not returned.all():
            parts.append(Part("unreturned", "mul", np.where(returned, 1.0, self.unreturned)))
        return arrange(ranking.scored(*parts).clamped())

    def _rerank_locally(self, query: Query, ranking: Ranking, snapshot: Snapshot, *why: Note) -> Ranking:
        """Rerank by late interaction in this process; by the fallback if its model is missing."""
        reader = LateInteraction(pool=self.pool, model=self.local_model)
        if missing := reader.report_missing():
            return self._rerank_by_cosine(query, ranking, snapshot, *why, *missing)
        if len(ranking) == 1:  # late interaction compares candidates with one another
            return ranking.noted(*why, Note("info", "a single candidate was not read: its score stays"))
        reranked = reader.apply(query, ranking, snapshot)
        if any(note.kind in ("degraded", "skipped") for note in reranked.notes):
            return self._rerank_by_cosine(query, ranking, snapshot, *why, *reranked.notes)
        return reranked.noted(*why, Note("info", f"late interaction ({self.local_model}) read the candidates"))

    def _rerank_by_cosine(self, query: Query, ranking: Ranking, snapshot: Snapshot, *why: Note) -> Ranking:
        """The fallback: rerank by cosine; leave the scores as they are without vectors."""
        missing = snapshot.lacks("dense") or (None if query.vector is not None else _NO_VECTOR)
        if missing:
            text = f"no rerank by cosine, the scores stay: {missing.text}"
            return ranking.noted(*why, Note("skipped", text, cure=missing.cure))
        light = Cosine(self.cosine_weight).apply(query, ranking, snapshot)
        share = Note("info", f"reranked by cosine, {self.cosine_weight:.0%} of the score")
        return light.noted(*why, share) if why else light

    def gives(self, scores: Range) -> Range:
        """The range over all paths: provider, local model, fallback."""
        if self.mode == "none":
            return scores
        require_unit("provider_rerank", scores)
        light = Cosine(self.cosine_weight).gives(scores)
        lowest, highest = min(scores.lo, light.lo), max(scores.hi, light.hi)
        if self.mode == "lightweight":
            return Range("unit", lowest, highest)
        local = LateInteraction(pool=self.pool, model=self.local_model).gives(scores)
        keep = 1.0 - self.blend
        return Range(
            "unit",
            min(lowest, local.lo, keep * scores.lo, self.unreturned * scores.lo),
            max(highest, local.hi, keep * scores.hi + self.blend),
        )


def _notes(provider: str, provider_scores: ProviderScores) -> list[Note]:
    """Notes on a provider's answer; degraded when scores are missing or were rejected."""
    count = len(provider_scores.scores)
    kind: Literal["degraded", "info"] = (
        "degraded" if provider_scores.rejected or provider_scores.returned < count else "info"
    )
    odd = "".join(f", {count} {what}" for what, count in provider_scores.rejected)
    notes = [Note(kind, f"{provider} judged {provider_scores.returned} of {count} candidates{odd}")]
    if provider_scores.below or provider_scores.above:
        clipped = f"{provider_scores.below} scores below 0 and {provider_scores.above} above 1 were held to [0, 1]"
        cure = 'scale = "logit"' if provider_scores.above else ""
        notes.append(Note("degraded" if provider_scores.above else "info", f"{provider}: {clipped}", cure=cure))
    return notes
