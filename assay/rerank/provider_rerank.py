"""The rerank of 002: a provider reads query and text together; whatever goes wrong with it costs no candidate."""

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
from assay.errors import AssayError, ConfigError
from assay.protocols import Snapshot
from assay.rerank.cosine import Cosine
from assay.rerank.late_interaction import LateInteraction
from assay.rerank.providers.answer import ProviderScores
from assay.rerank.providers.ask import Target, ask, key_from_env, state_of
from assay.rerank.providers.post import Trouble
from assay.rerank.providers.table import PROVIDERS, ProviderFormat
from assay.types import Note, Part, Query, Range, Ranking

MODES = ("cross-encoder", "lightweight", "none")
SCALES = ("", "unit", "logit")
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")


@dataclass(frozen=True, slots=True)
class ProviderRerank:
    """Blends a rerank provider's judgement into the first `pool` candidates, as 002 does.

        returned      score = blend · judgement + (1 − blend) · score
        not returned  score = unreturned · score            (left out by the provider, without text, or beyond the pool)
        fallback      score = (1 − cosine_weight) · score + cosine_weight · cos(query, chunk)

    `mode` is "cross-encoder" (a provider reads), "lightweight" (the fallback's formula, nothing is asked) or "none".
    `provider` is a row of the table in docs/rerankers.md; an empty `endpoint`, `model`, `key_env` or `scale` takes that
    row's. A judgement on the scale "unit" is held to [0, 1]; a "logit" passes a sigmoid.

    The key is read from the environment variable `key_env` when the stage runs, and is kept and shown nowhere. Without
    a key, a provider that needs one is not asked: late interaction with `local_model` reads instead (as it does for the
    provider "local", with its own blend), or the fallback where that model is not installed. A provider that fails, or
    gives no answer within `timeout_s` seconds for one try and `deadline_s` for all, leads to the fallback; so does a
    query without text. One that fails again and again is not asked for a while. All of this is on the record, and
    no candidate is lost. Needs and gives unit scores.
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
            # The value is not repeated: it may be the key itself.
            raise ConfigError(
                "provider_rerank.key_env is not the name of an environment variable",
                "name a variable in capitals, such as JINA_API_KEY, and put the key into it",
            )
        self._check_reads()

    def _check_reads(self) -> None:
        """Every setting is read by something: "local" has no address, everybody else needs a good one."""
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

    def apply(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        if not len(ranking) or self.mode == "none":
            return ranking
        if self.mode == "lightweight":
            return self._light(query, ranking, snapshot)
        if not query.text.strip():
            return self._light(query, ranking, snapshot, Note("skipped", "there is no text in the query to read"))
        wire = PROVIDERS[self.provider].wire
        if wire is None:
            return self._local(query, ranking, snapshot)
        return self._remote(query, ranking, snapshot, self._target(wire))

    def _target(self, wire: ProviderFormat) -> Target:
        row = PROVIDERS[self.provider]
        return Target(
            provider=self.provider,
            url=self.endpoint or row.url,
            model=self.model or row.model,
            key_env=self.key_env or row.key_env,
            scale="logit" if (self.scale or row.scale) == "logit" else "unit",
            wire=wire,
            timeout_s=self.timeout_s,
            deadline_s=self.deadline_s,
            at_once=row.at_once,
        )

    def _remote(self, query: Query, ranking: Ranking, snapshot: Snapshot, target: Target) -> Ranking:
        try:
            key = key_from_env(target.key_env)
            if not key and PROVIDERS[self.provider].needs_key:
                # No key is a choice, and the local model is what it chooses; what is missing then says so itself.
                why = f"{target} was not asked: no key in {target.key_env}"
                return self._local(query, ranking, snapshot, Note("info", why))
            texts = [chunk.indexed_text if chunk else "" for chunk in chunks_of(top(ranking, self.pool), snapshot)]
            places = np.array([place for place, text in enumerate(texts) if text.strip()], np.intp)
            if not len(places):
                return self._light(query, ranking, snapshot, Note("skipped", "no candidate has a text to read"))
            judgement = ask(target, key, query.text, [texts[place] for place in places])
        except Trouble as trouble:
            why = f"{target} did not judge: {trouble.what}; breaker {state_of(target)}; cure: {trouble.cure}"
            return self._light(query, ranking, snapshot, Note("degraded", why))
        except AssayError as error:
            why = f"{target} was not asked: {error.message}; cure: {error.cure}"
            return self._local(query, ranking, snapshot, Note("degraded", why))
        return self._blended(ranking, places, judgement).noted(*_notes(str(target), judgement))

    def _blended(self, ranking: Ranking, places: NDArray[np.intp], judgement: ProviderScores) -> Ranking:
        said = np.full(len(ranking), np.nan)
        said[places] = judgement.scores
        returned = ~np.isnan(said)
        parts = [
            Part("rerank.keep", "mul", np.where(returned, 1.0 - self.blend, 1.0)),
            Part("rerank", "add", np.where(returned, self.blend * said, 0.0)),
        ]
        if not returned.all():
            parts.append(Part("unreturned", "mul", np.where(returned, 1.0, self.unreturned)))
        return arrange(ranking.scored(*parts).clamped())

    def _local(self, query: Query, ranking: Ranking, snapshot: Snapshot, *why: Note) -> Ranking:
        """Late interaction in this process; the fallback where its model is missing."""
        reader = LateInteraction(pool=self.pool, model=self.local_model)
        if lacks := reader.lacks():
            return self._light(query, ranking, snapshot, *why, *lacks)
        if len(ranking) == 1:  # it compares candidates with one another
            return ranking.noted(*why, Note("info", "a single candidate was not read: its score stays"))
        read = reader.apply(query, ranking, snapshot)
        if any(note.kind in ("degraded", "skipped") for note in read.notes):
            return self._light(query, ranking, snapshot, *why, *read.notes)
        return read.noted(*why, Note("info", f"late interaction ({self.local_model}) read the candidates"))

    def _light(self, query: Query, ranking: Ranking, snapshot: Snapshot, *why: Note) -> Ranking:
        """The lightweight rerank; the scores as they are where there are no vectors to compare."""
        missing = snapshot.lacks("dense") or ("" if query.vector is not None else "the query has no vector")
        if missing:
            return ranking.noted(*why, Note("skipped", f"no rerank by cosine, the scores stay: {missing}"))
        light = Cosine(self.cosine_weight).apply(query, ranking, snapshot)
        share = Note("info", f"reranked by cosine, {self.cosine_weight:.0%} of the score")
        return light.noted(*why, share) if why else light

    def gives(self, given: Range) -> Range:
        """Whatever happens on the way, the scores lie here."""
        if self.mode == "none":
            return given
        require_unit("provider_rerank", given)
        light = Cosine(self.cosine_weight).gives(given)
        lowest, highest = min(given.lo, light.lo), max(given.hi, light.hi)
        if self.mode == "lightweight":
            return Range("unit", lowest, highest)
        local = LateInteraction(pool=self.pool, model=self.local_model).gives(given)
        keep = 1.0 - self.blend
        return Range(
            "unit",
            min(lowest, local.lo, keep * given.lo, self.unreturned * given.lo),
            max(highest, local.hi, keep * given.hi + self.blend),
        )


def _notes(who: str, judgement: ProviderScores) -> list[Note]:
    """What a provider's answer was like; degraded when it was not what was asked for."""
    asked = len(judgement.scores)
    kind: Literal["degraded", "info"] = "degraded" if judgement.odd or judgement.returned < asked else "info"
    odd = "".join(f", {count} {what}" for what, count in judgement.odd)
    notes = [Note(kind, f"{who} judged {judgement.returned} of {asked} candidates{odd}")]
    if judgement.below or judgement.above:
        held = f"{judgement.below} scores below 0 and {judgement.above} above 1 were held to [0, 1]"
        cure = '; cure: scale = "logit"' if judgement.above else ""
        notes.append(Note("degraded" if judgement.above else "info", f"{who}: {held}{cure}"))
    return notes
