"""The noise filter at recall time."""

from assay.select.noise import Noise
from assay.testing.build import found
from assay.testing.memory_snapshot import MemorySnapshot
from assay.types import Chunk, Query, Range, Ranking

TEXTS = {
    "fact": "The gate code is 4417.",
    "denial": "I don't have any information about that.",
    "asked": "Do you remember my name?",
    "hello": "Hello! How can I help you today?",
    "again": "Good morning!",
    "short": "ok",
}
SNAPSHOT = MemorySnapshot([Chunk(name, "d", text, 5) for name, text in TEXTS.items()])


def test_noise_goes_with_its_category_on_the_record():
    scores = {name: 1.0 - place / 10 for place, name in enumerate(TEXTS)} | {"elsewhere": 0.1}
    chosen = Noise().select(Query("gate"), found(scores), SNAPSHOT)
    assert chosen.ids.tolist() == ["fact", "elsewhere"]
    assert chosen.score.tolist() == [1.0, 0.1]
    assert [(note.kind, note.text, note.ids) for note in chosen.notes] == [
        ("dropped", "noise: denial", ("denial",)),
        ("dropped", "noise: meta_question", ("asked",)),
        ("dropped", "noise: boilerplate", ("hello", "again")),
        ("dropped", "noise: short", ("short",)),
    ]


def test_without_noise_the_ranking_is_as_it_was():
    ranking = found({"fact": 0.5})
    assert Noise().select(Query(), ranking, SNAPSHOT) is ranking
    assert len(Noise().select(Query(), Ranking.empty("raw"), SNAPSHOT)) == 0
    assert Noise().gives(Range("raw", 0.0, 9.0)) == Range("raw", 0.0, 9.0)
