"""Synthetic suites: every query is checked here again, by brute force over the texts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.bench.collection import CollectionError, from_folder
from assay.bench.datasets import load
from assay.bench.synth.collection_index import MAX_RELEVANT, CollectionIndex
from assay.bench.synth.identifier_queries import is_searchable
from assay.bench.synth.link_queries import find_links
from assay.bench.synth.paraphrase_queries import find_definitions
from assay.bench.synth.plain_text import lower_word, strip_markup
from assay.bench.synth.round_robin import draw_round_robin
from assay.bench.synth.sentence_queries import select_rarest
from assay.bench.synth.suite import Suite, build_suite
from assay.bench.synth.suite_writer import write_suite
from assay.bench.synth.synthetic_query import SyntheticQuery
from assay.text.analyser import Analyser
from tests.bench.small_docs import write_docs

HANDBOOK = Path(__file__).parents[2] / "examples" / "handbook"


@pytest.fixture(scope="module")
def suite() -> Suite:
    return build_suite(from_folder(HANDBOOK), 120)


@pytest.fixture
def library(tmp_path: Path) -> CollectionIndex:
    return CollectionIndex(from_folder(write_docs(tmp_path / "docs")).documents, Analyser())


def every(suite: Suite) -> list[SyntheticQuery]:
    return [query for all_made in suite.queries.values() for query in all_made]


def holds(suite: Suite, place: int, terms: list[str]) -> bool:
    document = suite.index.documents[place]
    sections = "\n".join(passage.section for passage in document.passages)
    return set(terms) <= set(Analyser().terms(f"{document.title}\n{sections}\n{document.text}"))


def test_the_sample_gives_queries_of_many_kinds(suite: Suite) -> None:
    assert suite.size == 120
    assert {"keywords", "heading", "identifier", "masked", "phrase", "unanswerable"} <= set(suite.queries)
    texts = [query.text.casefold() for query in every(suite)]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("kind", ["keywords", "phrase", "masked", "heading"])
def test_exactly_the_relevant_documents_hold_all_terms_of_a_query(suite: Suite, kind: str) -> None:
    for query in suite.queries[kind]:
        terms = Analyser().query_terms(query.text)
        holders = [p for p in range(len(suite.index.documents)) if holds(suite, p, terms)]
        assert holders == [r.document for r in query.relevant], query
        assert 1 <= len(holders) <= MAX_RELEVANT
        assert all(r.spans for r in query.relevant)


@pytest.mark.parametrize("kind", ["keywords", "phrase", "masked"])
def test_the_evidence_holds_the_query(suite: Suite, kind: str) -> None:
    for query in suite.queries[kind]:
        for relevant in query.relevant:
            text = suite.index.documents[relevant.document].text
            for spot in relevant.spans:
                terms = Analyser().terms(text[spot.start : spot.end])
                assert set(Analyser().query_terms(query.text)) <= set(terms), query


def test_every_document_with_an_identifier_is_relevant(suite: Suite) -> None:
    for query in suite.queries["identifier"]:
        name = next(word for word in query.text.split() if not word.isalpha())
        holders = [p for p, d in enumerate(suite.index.documents) if name.lower() in f"{d.title}\n{d.text}".lower()]
        assert holders == [r.document for r in query.relevant], query
        assert max(r.grade for r in query.relevant) == 2


def test_nothing_answers_the_unanswerable(suite: Suite) -> None:
    assert len(suite.queries["unanswerable"]) >= 4
    for query in suite.queries["unanswerable"]:
        terms = Analyser().query_terms(query.text)
        assert not any(holds(suite, p, terms) for p in range(len(suite.index.documents))), query
        assert all(relevant.grade == 0 for relevant in query.relevant)


def test_documents_take_turns(suite: Suite) -> None:
    drawn = [query.relevant[0].document for query in suite.queries["phrase"]]
    first = drawn[: len(set(drawn))]
    assert len(set(first)) == len(first)


def test_copies_and_boilerplate_are_not_drawn_from(library: CollectionIndex) -> None:
    drawn = {library.documents[s.document].id for s in library.original_sentences}
    assert drawn == {"docs/keys.md", "docs/incidents.md", "docs/gateway.md"}


def test_a_copy_that_holds_a_query_is_relevant_too(library: CollectionIndex) -> None:
    places = {document.id: place for place, document in enumerate(library.documents)}
    relevant = library.judge_query("warm lunch soup", places["docs/food.md"])
    assert {library.documents[r.document].id for r in relevant} == {"docs/food.md", "docs/copy.md"}


def test_terms_scattered_over_another_document_make_a_query_ambiguous(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("The heron sleeps on the crane beside the warehouse.")
    (docs / "b.md").write_text("A heron came. A crane fell. A warehouse burned.")
    library = CollectionIndex(from_folder(docs).documents, Analyser())
    assert library.judge_query("heron crane warehouse", 0) == ()
    assert [r.document for r in library.judge_query("heron sleeps crane", 0)] == [0]


def test_links_lead_to_documents_beside_and_anchors_become_queries(library: CollectionIndex, tmp_path: Path) -> None:
    found = [(link.anchor, library.documents[link.target].id) for link in find_links(library)]
    assert found == [("what to do when a token is lost", "docs/incidents.md"), ("the canteen", "docs/food.md")]
    queries = build_suite(from_folder(tmp_path / "docs"), 60).queries["anchor"]
    assert [one.text for one in queries] == ["what to do when a token is lost"]  # "the canteen" says one word only
    assert queries[0].meta == {"source_pages": ["docs/keys.md"]}


def test_links_from_the_root_of_a_site_are_found_under_any_prefix(tmp_path: Path) -> None:
    (tmp_path / "docs/guide").mkdir(parents=True)
    (tmp_path / "docs/guide/_index.md").write_text("# Guide\nSailing guide of the harbour.")
    (tmp_path / "docs/a.md").write_text(
        "[one](/site/docs/guide/) [two](/docs/guide) [three](guide/_index.md) [far](https://host/guide) "
        "[none](/x/y/z) [self](a.md) [four](/guide#part)"
    )
    library = CollectionIndex(from_folder(tmp_path / "docs").documents, Analyser())
    assert [link.anchor for link in find_links(library)] == ["one", "two", "three", "four"]


def test_an_abbreviation_is_spelt_out_as_the_collection_says(library: CollectionIndex, tmp_path: Path) -> None:
    assert find_definitions(library) == {"HSM": "hardware security module"}
    queries = build_suite(from_folder(tmp_path / "docs"), 60).queries["abbreviation"]
    assert queries[0].text.startswith("hardware security module ")
    assert [library.documents[r.document].id for r in queries[0].relevant] == ["docs/incidents.md"]


def test_a_description_is_a_query_for_its_document(library: CollectionIndex, tmp_path: Path) -> None:
    queries = build_suite(from_folder(tmp_path / "docs"), 60).queries["description"]
    assert [one.text for one in queries] == ["How the firmware keys are rotated and who may touch them"]
    assert [library.documents[r.document].id for r in queries[0].relevant] == ["docs/keys.md"]


def test_how_words_are_typed() -> None:
    assert strip_markup("- **Rotate** the [key](x.md) `now`.") == "Rotate the key now."
    assert strip_markup("3. Run it") == "Run it"
    assert [lower_word(word) for word in ("Rotate", "GitLab", "SLA", "A", "C")] == ["rotate", "GitLab", "SLA", "a", "C"]


def test_a_spread_draw_goes_round() -> None:
    items = [("a", "1"), ("a", "2"), ("a", "3"), ("b", "1"), ("c", "1"), ("c", "2")]
    found = list(draw_round_robin(items, lambda item: item, 0, "kind"))
    assert sorted(found) == sorted(items)
    assert {document for document, _ in found[:3]} == {"a", "b", "c"}
    assert {document for document, _ in found[3:5]} == {"a", "c"}
    assert found == list(draw_round_robin(reversed(items), lambda item: item, 0, "kind"))


def test_another_seed_draws_other_queries(suite: Suite) -> None:
    other = build_suite(from_folder(HANDBOOK), 120, seed=1)
    assert [m.text for m in every(other)] != [m.text for m in every(suite)]


def test_the_folder_reads_as_a_dataset(suite: Suite, tmp_path: Path) -> None:
    meta = write_suite(suite, tmp_path / "suite", source="handbook", seed=0)
    assert meta["label"] == "synthetic"
    assert meta["counts"]["queries"] == 120
    whole = load(str(tmp_path / "suite"), "all")
    assert whole.label == "synthetic"
    assert len(whole.abstain) == len(suite.queries["unanswerable"])
    assert len(whole.scored) + len(whole.abstain) == 120
    assert {"kind=keywords", "kind=heading"} <= set(whole.strata())
    assert all(e.text.strip() for found in whole.evidence.values() for e in found)
    dev, test = (set(load(str(tmp_path / "suite"), split).scored) for split in ("dev", "test"))
    assert not dev & test
    assert dev | test == set(whole.scored)


def test_same_documents_same_bytes(tmp_path: Path) -> None:
    docs = write_docs(tmp_path / "docs")
    for name in ("one", "two"):
        write_suite(build_suite(from_folder(docs), 30), tmp_path / name / "suite", source="docs", seed=0)
    files = sorted(p.relative_to(tmp_path / "one") for p in (tmp_path / "one").rglob("*") if p.is_file())
    assert len(files) == 6
    assert all((tmp_path / "one" / f).read_bytes() == (tmp_path / "two" / f).read_bytes() for f in files)


def test_somebody_elses_folder_is_never_overwritten(suite: Suite, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/corpus.jsonl").write_text("precious")
    with pytest.raises(Exception, match="is there already"):
        write_suite(suite, tmp_path / "mine", source="x", seed=0)
    assert (tmp_path / "mine/corpus.jsonl").read_text() == "precious"
    write_suite(suite, tmp_path / "ours", source="x", seed=0)
    write_suite(suite, tmp_path / "ours", source="x", seed=0)
    assert json.loads((tmp_path / "ours/meta.json").read_text())["source"] == "x"


@pytest.mark.parametrize("text", ["", "one two", "| a | b |\n|---|---|\n", "\ud83d\ude00" * 3, "a" * 5000])
def test_documents_without_running_text_say_so(tmp_path: Path, text: str) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text(text.encode("utf-16", "surrogatepass").decode("utf-16"), "utf-8")
    with pytest.raises(CollectionError):
        build_suite(from_folder(docs), 10)


def test_keywords_are_words_somebody_searches_by(library: CollectionIndex) -> None:
    sentence = "The gateways of a harbour gateway always get packets and dashboards from gauges."
    chosen = select_rarest(library, library.words(sentence), 9)
    assert [word.text for word in chosen] == ["gateways", "packets", "dashboards", "gauges"]  # harbour is too common


@pytest.mark.parametrize("name", ["VAULT_SLOT_ID", "CVE-2024-4711", "v4.2.0", "--dry-run", "camelCase"])
def test_names_that_people_type(name: str) -> None:
    assert is_searchable(name)


@pytest.mark.parametrize(
    "name", ["word", "API", "30-day", "a@b.org", "index.html", "ffc928", "u5iT7vcy", "John's", ".css-x"]
)
def test_names_that_nobody_types(name: str) -> None:
    assert not is_searchable(name)
