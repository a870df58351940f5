"""Real datasets, if available: published counts, documented semantics."""

import os
from pathlib import Path

import pytest

from assay.bench.datasets import DatasetError, list_datasets, load
from assay.bench.datasets.catalog import SHIPPED

HOME = os.environ.get("ASSAY_DATA", "")
pytestmark = pytest.mark.skipif(not Path(HOME or "/nowhere").is_dir(), reason="$ASSAY_DATA names no folder")

COUNTS = {  # documents, scored, unanswerable, passages of evidence; of the split all
    "basecamp_handbook": (16, 47, 0, 0),
    "beam": (5732, 355, 40, 1094),
    "chunking_eval": (2260, 472, 0, 807),
    "chunking_eval#documents": (5, 472, 0, 790),
    "covidqa_long": (2966, 1358, 0, 1390),
    "covidqa_long#documents": (98, 1358, 0, 1380),
    "cranfield": (1400, 225, 0, 0),
    "enron_berkeley": (1702, 13, 0, 0),
    "fever_eraser": (4064, 2500, 0, 3453),
    "gitlab_handbook": (4202, 900, 0, 0),
    "hotpotqa": (6726, 685, 0, 708),
    "k8s_changelog": (32184, 347, 0, 0),
    "locomo": (5882, 1536, 446, 0),
    "locomo_sessions": (272, 1536, 446, 0),
    "longmemeval_mini": (78, 18, 4, 0),
    "multihoprag_facts": (438, 429, 71, 0),
    "nfcorpus": (3633, 3237, 0, 0),
    "peps": (736, 31, 0, 0),
    "qed": (8096, 8371, 151, 6178),
    "scifact": (5183, 1109, 0, 1391),
    "squad2_mini": (411, 242, 258, 0),
}
UNASKED = ("keps", "wiki_gensim")


def _needs(name: str) -> None:
    if not Path(HOME, name.partition("#")[0]).is_dir():
        pytest.skip(f"{name} is not in $ASSAY_DATA")


@pytest.mark.parametrize("name", COUNTS)
def test_counts(name: str) -> None:
    _needs(name)
    found = load(name, "all")
    passages = sum(map(len, found.evidence.values()))
    assert (found.document_count, len(found.scored), len(found.abstain), passages) == COUNTS[name]
    assert not found.abstain & set(found.judgements)


@pytest.mark.parametrize("name", UNASKED)
def test_a_set_without_questions_says_so(name: str) -> None:
    _needs(name)
    with pytest.raises(DatasetError, match=f"{name} has no queries"):
        load(name)


def test_nothing_here_is_unknown_to_these_tests() -> None:
    assert set(list_datasets()) <= {*COUNTS, *UNASKED, *SHIPPED}


@pytest.mark.parametrize("name", ["locomo", "locomo_sessions"])
def test_conversations_restrict_and_date(name: str) -> None:
    _needs(name)
    found = load(name, "dev")
    assert found.topics["conv-26:q0"].where == 'conversation = "conv-26"'
    assert next(iter(found.documents))["created"] == 1683554160.0  # 1:56 pm on 8 May, 2023
    assert {name.partition("=")[0] for name in found.strata()} == {"conversation", "type"}


def test_labels_are_kept_apart() -> None:
    for name, label in {"peps": "auto", "gitlab_handbook": "weak", "enron_berkeley": "human"}.items():
        _needs(name)
        assert load(name, "all").label == label


def test_cranfield_has_other_judgements_and_two_empty_documents() -> None:
    _needs("cranfield")
    graded = load("cranfield", "test_graded")
    assert {grade for judged in graded.judgements.values() for grade in judged.values()} == {1, 2, 3, 4}
    assert "2 documents are empty: they count, but nothing finds them" in graded.notes
    raw = load("cranfield", "test_raw_codes")
    assert -1 in {grade for judged in raw.judgements.values() for grade in judged.values()}


def test_evidence_stands_in_its_documents() -> None:
    for name in ("scifact", "hotpotqa", "chunking_eval"):
        _needs(name)
        found = load(name)
        texts = {record["id"]: record["text"] for record in found.documents}
        for passages in found.evidence.values():
            assert all(texts[p.doc_id][p.start : p.end].split() == p.text.split() for p in passages)
