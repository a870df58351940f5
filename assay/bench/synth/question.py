"""Questions written by a language model behind an OpenAI-compatible server. Optional: nothing else needs one.

`POST <url>/chat/completions` at temperature 0, one passage per request; what came back is kept by the digest of what
was sent, so the same folder, seed and model give the same suite again without a server.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.bench.synth.generated import Made, Relevant, Spot
from assay.bench.synth.library import Library
from assay.bench.synth.round_robin import spread
from assay.embed.endpoint import Endpoint
from assay.embed.home import home
from assay.errors import ModelError

KEY_VARIABLE = "ASSAY_CHAT_KEY"
WORDS = (4, 40)
LEAST_SHARED = 0.3
"""A question shares at least this part of its terms with its document, else it asks about something else."""
PROMPT = (
    "Write one question that a person would type into a search box and that the following passage answers. Use your "
    "own words, name the subject, do not refer to the passage, and answer with the question alone.\n\n"
    "Title: {title}\n\n{text}"
)


@dataclass(frozen=True)
class QuestionWriter:
    """A model that writes questions. `cache` is a folder; one file per answer."""

    url: str
    model: str
    cache: Path | None = None

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(f"{self.url.rstrip('/')}/chat/completions", KEY_VARIABLE)

    def make(self, library: Library, seed: int) -> Iterator[Made]:
        """Questions in the order of the draw; nobody else may hold all of a question's terms."""
        endpoint = self.endpoint
        for sentence in spread(library.own_sentences, lambda s: (str(s.document), s.plain), seed, "question"):
            document = library.documents[sentence.document]
            passage = document.passages[sentence.passage]
            text = self._asked(endpoint, PROMPT.format(title=document.title, text=passage.text))
            others = [p for p in library.holders(library.analyser.query_terms(text)) if p != sentence.document]
            fits = WORDS[0] <= len(text.split()) <= WORDS[1] and library.copied(text, sentence.document) >= LEAST_SHARED
            if fits and not others:
                yield Made("question", text, (Relevant(sentence.document, 1, (Spot(passage.start, passage.end),)),))

    def _asked(self, endpoint: Endpoint, prompt: str) -> str:
        payload = {"model": self.model, "temperature": 0, "messages": [{"role": "user", "content": prompt}]}
        said = json.dumps([endpoint.url, payload], sort_keys=True).encode()
        kept = (self.cache or home() / "questions") / f"{hashlib.sha256(said).hexdigest()}.txt"
        if kept.is_file():
            return kept.read_text("utf-8")
        text = " ".join(_content(endpoint.post(payload), endpoint.url).split())
        kept.parent.mkdir(parents=True, exist_ok=True)
        aside = kept.with_suffix(f".{os.getpid()}.part")
        aside.write_text(text, "utf-8")
        os.replace(aside, kept)
        return text


def _content(answer: Any, url: str) -> str:
    try:
        said = answer["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        said = None
    if not isinstance(said, str):
        raise ModelError(f"{url} answered without a message", "check that the address serves OpenAI-compatible chats")
    return said
