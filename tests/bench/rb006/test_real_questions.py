"""Real questions: any dataset with evidence, its questions without an answer, and unknown names."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.bench.dataset_writer import write_folder
from assay.bench.rb006.real_questions import REAL_SETS, RealSet, find_sets, load_real, measure_real
from assay.bench.rb006.systems import find_systems
from assay.bench.workspace import IndexSettings
from assay.errors import ConfigError

FACTS = {"q1": ("Berlin", "Anna Reis"), "q2": ("Madrid", "Tom Okoye"), "q3": ("Lima", "Ida Sund")}


@pytest.fixture
def chosen(tmp_path: Path) -> RealSet:
    folder = tmp_path / "questions"
    texts = {name: f"A sentence before. {who} signs in {place}. One after." for name, (place, who) in FACTS.items()}
    write_folder(
        folder,
        documents=[
            *({"_id": f"d-{name}", "title": "", "text": text, "metadata": {}} for name, text in texts.items()),
            *({"_id": f"n{n}", "title": "", "text": f"Soup number {n}.", "metadata": {}} for n in range(40)),
        ],
        queries=[
            *(
                {"_id": name, "text": f"Who signs in {place}?", "metadata": {"answers": [who]}}
                for name, (place, who) in FACTS.items()
            ),
            {"_id": "q9", "text": "Who invented quaternions?", "metadata": {"unanswerable": True}},
        ],
        splits={"test": [(name, f"d-{name}", 1) for name in FACTS]},
        evidence=[
            {
                "query_id": name,
                "doc_id": f"d-{name}",
                "start": 19,
                "end": 19 + len(f"{who} signs in {place}."),
                "group": 0,
            }
            for name, (place, who) in FACTS.items()
        ],
        meta={"name": "questions", "label": "human"},
    )
    return RealSet(str(folder), "sentences; questions without an answer")


def test_questions_are_drawn_by_hash_with_those_without_an_answer(chosen: RealSet) -> None:
    subject = load_real(chosen, "all", 2)
    assert len(subject.feasible) == 2
    assert [query.id for query in subject.queries if query.kind] == ["q9"]
    assert subject.feasible == load_real(chosen, "all", 2).feasible


def test_measures_and_what_is_refused(chosen: RealSet, tmp_path: Path) -> None:
    named = RealSet(chosen.name, chosen.gold)
    found = measure_real(
        named,
        tmp_path / "out",
        systems=find_systems(["bm25", "oracle"]),
        split="all",
        settings=IndexSettings("none"),
        cache=tmp_path / "cache",
    )
    assert found["questions"] == 3
    assert found["without_answer"] == 1
    assert found["systems"]["bm25"]["A"] == dict.fromkeys(("200", "400", "800", "1200", "pool"), 1.0)
    assert found["systems"]["bm25"]["AIC"]["400"] == 1.0
    assert found["systems"]["oracle"]["EP"]["400"] == 1.0
    assert found["detector"]["recall"] == 1.0
    assert found["detector"]["false_refusals"] == 0
    assert found["digests"] == {system.name: system.digest for system in find_systems(["bm25", "oracle"])}


def test_sets_by_name() -> None:
    assert [one.name for one in find_sets(["qed", "beam", "qed"])] == ["qed", "beam"]
    assert len(find_sets([])) == len(REAL_SETS) == 8
    with pytest.raises(ConfigError, match="'hotpot'") as error:
        find_sets(["hotpot"])
    assert "hotpotqa" in str(error.value.cure)
