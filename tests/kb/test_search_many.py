"""`search_many` and `asearch` answer what `search` answers."""

import asyncio
import threading

import pytest

import assay
from assay.errors import ConfigError

TEXTS = ["signing key", "tea kitchen", "", "gauge", "signing key"]


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    with assay.open(tmp_path_factory.mktemp("many") / "kb", embedder="none") as base:
        base.add(["Rotate the signing key.", "The tea kitchen has a key.", "A gauge without a key."])
        yield base


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_many_are_those_of_one_by_one(kb, threads):
    many = kb.search_many(TEXTS, 2, threads=threads, pipeline="bm25")
    assert [answer.digest for answer in many] == [kb.search(text, 2, pipeline="bm25").digest for text in TEXTS]
    assert kb.search_many([]) == ()


def test_all_answers_are_of_the_same_state(tmp_path):
    """A writer adds a document between the questions; no answer sees it."""
    with assay.open(tmp_path / "kb", embedder="none") as kb:
        kb.add(["The first key."])
        before = kb.store.version()

        def texts():
            for number in range(3):
                kb.add([f"Another key {number}."])
                yield "key"

        many = kb.search_many(texts(), 10, pipeline="bm25")
        assert [len(answer) for answer in many] == [1, 1, 1]
        assert len(kb.search("key", 10)) == 4
        assert [len(a) for a in kb.search_many(["key"], 10, snapshot=f"v{before}")] == [1]


def test_an_error_is_that_of_search(kb):
    with pytest.raises(ConfigError, match="below 1"):
        kb.search_many(["x"], 0)


def test_asearch_leaves_the_event_loop_free(kb):
    threads = set()

    async def both():
        threads.add(threading.get_ident())
        return await asyncio.gather(*(kb.asearch(text, 1) for text in TEXTS))

    found = asyncio.run(both())
    assert [answer.digest for answer in found] == [kb.search(text, 1).digest for text in TEXTS]
