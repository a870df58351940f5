"""What one scope holds must not show in the answers of another: not in hits, scores, parts, counts or judgements."""

import pytest

from assay import memory
from assay.where import Compare

OWN = ["anchorword about herons", "the anchorword stands at the lake", "rotate the signing key on friday"]
OTHERS = [
    "zebra crossing near the anchorword, with anchorword twice",
    "herons and lakes and keys, a long text that changes the mean length of everything around it " * 3,
    "friday friday friday",
]
QUERIES = ["anchorword zebra", "anchorword heron", "signing key friday", "zebra", '"anchorword" E-4711']


def seen(service, query, scope="user:a"):
    """All that a caller of one scope can see of a recall and of explanations, without the time it took."""
    answer = service.recall(query, scope=scope, adaptive=False)
    hits = [(hit.memory.text, hit.score) for hit in answer.hits]
    spans = [
        (
            span.name,
            [service.kb.snapshot().chunks(span.ranking.rows[[place]])[0].text for place in range(len(span.ranking))],
            span.ranking.score.tolist(),
            [(part.name, part.column.tolist()) for part in span.ranking.parts],
            [note.text for note in span.notes],
        )
        for span in answer.answer.trace
    ]
    judged = answer.answer.answerability
    return hits, spans, [str(p) for p in answer.status.problems], answer.dropped, judged and judged.kind


def fill(service, clock, texts, scope):
    for text in texts:
        clock.now += 1.0
        service.store(text, scope=scope, on_duplicate="force")


@pytest.fixture(params=["m", "m.sqlite", "m.lance"])
def pair(request, tmp_path, home, clock):
    """A memory with one scope, and the same with another one beside it."""
    if request.param.endswith("lance"):
        pytest.importorskip("lancedb")
    start = clock.now
    with (
        memory.open(tmp_path / f"alone-{request.param}", embedder="none", clock=clock) as alone,
        memory.open(tmp_path / f"beside-{request.param}", embedder="none", clock=clock) as beside,
    ):
        fill(alone, clock, OWN, "user:a")
        clock.now = start
        fill(beside, clock, OWN, "user:a")
        fill(beside, clock, OTHERS, "user:b")
        yield alone, beside


@pytest.mark.parametrize("compacted", [False, True])
def test_another_scope_changes_nothing_that_a_scope_sees(pair, compacted):
    alone, beside = pair
    if compacted:
        alone.kb.optimize(force=True)
        beside.kb.optimize(force=True)
    for query in QUERIES:
        assert seen(alone, query) == seen(beside, query), query


def test_the_word_oracle_tells_nothing(pair):
    """A rare word that only another scope holds must weigh as much as a word that nobody holds."""
    _, beside = pair
    held, unknown = (seen(beside, f"anchorword {word}") for word in ("zebra", "qwertz"))
    assert held[0] == unknown[0]
    for span, other in zip(held[1], unknown[1], strict=True):
        assert span[1:3] == other[1:3]
        assert [value for _, value in span[3]] == [value for _, value in other[3]]


def test_a_memory_of_another_scope_has_no_row(pair):
    _, beside = pair
    whole = beside.kb.snapshot()
    part = whole.within(Compare("scope", "=", "user:a"))
    names = whole.ids(whole.live_rows(None))
    rows = part.rows(names)
    mine = {str(name) for name in part.ids(part.live_rows(None))}
    assert part.size == len(OWN) == len(mine)
    assert {str(name) for name, row in zip(names, rows, strict=True) if row >= 0} == mine
    assert part.digest != whole.digest
    assert whole.within(Compare("scope", "=", "user:a")) is part


def test_several_scopes_share_their_statistics(pair):
    """Whoever may see two scopes gets the statistics of both."""
    _, beside = pair
    both = beside.recall("anchorword zebra", scope=["user:a", "user:b"], adaptive=False)
    assert any("zebra" in hit.text for hit in both.hits)
    assert seen(beside, "anchorword zebra", ["user:a", "user:b"]) != seen(beside, "anchorword zebra")
