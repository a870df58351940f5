"""Questions written by a language model behind an OpenAI-compatible server. Optional.

`POST <url>/chat/completions` at temperature 0, one passage per request. Answers are cached by the digest of the
request, so the same folder, seed and model give the same suite again without a server.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from assay.bench.synth.collection_index import CollectionIndex
from assay.bench.synth.round_robin import draw_round_robin
from assay.bench.synth.synthetic_query import EvidenceSpan, RelevantDocument, SyntheticQuery
from assay.embed.cache_home import cache_home
from assay.embed.chat import ChatModel

QUESTION_WORDS = (4, 40)
MIN_SHARED = 0.3
"""A question must share at least this part of its terms with its document."""
PROMPT = (
    "Write one question that a person would type into a search box and that the following passage answers. Use your "
    "own words, name the subject, do not refer to the passage, and answer with the question alone.\n\n"
    "Title: {title}\n\n{text}"
)


@dataclass(frozen=True)
class QuestionWriter:
    """Asks a model for questions. `cache` is a folder with one file per answer."""

    url: str
    model: str
    cache: Path | None = None

    @property
    def chat(self) -> ChatModel:
        return ChatModel(self.url, self.model)

    def make(self, index: CollectionIndex, seed: int) -> Iterator[SyntheticQuery]:
        """Questions in the order of the draw; no other document may contain all of a question's terms."""
        chat = self.chat
        for sentence in draw_round_robin(
            index.original_sentences, lambda s: (str(s.document), s.plain), seed, "question"
        ):
            document = index.documents[sentence.document]
            passage = document.passages[sentence.passage]
            text = self._ask_model(chat, PROMPT.format(title=document.title, text=passage.text))
            others = [p for p in index.documents_with(index.analyser.query_terms(text)) if p != sentence.document]
            fits = (
                QUESTION_WORDS[0] <= len(text.split()) <= QUESTION_WORDS[1]
                and index.copied_share(text, sentence.document) >= MIN_SHARED
            )
            if fits and not others:
                yield SyntheticQuery(
                    "question",
                    text,
                    (RelevantDocument(sentence.document, 1, (EvidenceSpan(passage.start, passage.end),)),),
                )

    def _ask_model(self, chat: ChatModel, prompt: str) -> str:
        request = json.dumps([chat.endpoint.url, chat.payload(prompt)], sort_keys=True).encode()
        cache_file = (self.cache or cache_home() / "questions") / f"{hashlib.sha256(request).hexdigest()}.txt"
        if cache_file.is_file():
            return cache_file.read_text("utf-8")
        text = chat.ask(prompt)
        cache_file.parent.mkdir(parents=True, exist_ok=True)
        partial_file = cache_file.with_suffix(f".{os.getpid()}.part")
        partial_file.write_text(text, "utf-8")
        os.replace(partial_file, cache_file)
        return text
