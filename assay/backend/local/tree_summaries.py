"""Lets a language model summarise the nodes of a local store's tree. What fails keeps its extractive summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.backend.contract import SummaryReport
from assay.backend.local.tree import open_summaries
from assay.embed.chat import ChatModel
from assay.errors import ModelError
from assay.index.tree.summary_cache import make_prompt
from assay.types import Progress
from assay.util.thread_map import thread_map

if TYPE_CHECKING:
    from assay.backend.local.backend import LocalBackend

_BATCH = 8
"""Nodes that are asked for at once."""
MOST_FAILURES = 3
"""Batches in a row without an answer after which the server is left alone."""
LONGEST = 1_000
"""Characters of a summary; a longer answer is no summary."""


def write_summaries(backend: LocalBackend, chat: ChatModel, progress: Progress) -> SummaryReport:
    """Ask for every node whose sentences have no cached summary. The sentences of nodes are sent, nothing else."""
    store = backend.store
    cache = open_summaries(store, chat.model)
    assert cache is not None
    if store.setting("tree_summaries") != chat.model:
        with store.write("tree summaries") as writer:
            writer.set("tree_summaries", chat.model)
            writer.touch()
    contents = _list_contents(backend)
    wanted = [sentences for sentences in contents if not cache.get(sentences)]
    cached = len(contents) - len(wanted)
    written, failures, trouble = 0, 0, ""
    for first in range(0, len(wanted), _BATCH):
        if failures >= MOST_FAILURES:
            break
        progress("summaries by the model", cached + first, len(contents))
        batch = wanted[first : first + _BATCH]
        answers = thread_map(lambda sentences: _ask(chat, sentences), batch, _BATCH)
        texts = {sentences: text for sentences, (text, _) in zip(batch, answers, strict=True) if text}
        cache.put(texts)
        written += len(texts)
        trouble = next((error for _, error in answers if error), trouble)
        failures = 0 if texts else failures + 1
    progress("summaries by the model", len(contents), max(len(contents), 1))
    return SummaryReport(written, cached, len(wanted) - written, trouble)


def _list_contents(backend: LocalBackend) -> list[tuple[str, ...]]:
    """The sentences of every node that has any, each list once, from the root down."""
    tree = backend.snapshot().tree()
    lists = (tuple(one.text for one in tree.payloads.sentences(node)) for node in range(tree.size))
    return list(dict.fromkeys(sentences for sentences in lists if sentences))


def _ask(chat: ChatModel, sentences: tuple[str, ...]) -> tuple[str, str]:
    """(summary, "") or ("", error)."""
    try:
        text = chat.ask(make_prompt(sentences))
    except ModelError as error:
        return "", str(error)
    if not text or len(text) > LONGEST:
        return "", f"the model answered with {len(text):,} characters, which is no summary"
    return text, ""
