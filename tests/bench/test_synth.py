"""Synthetic suites: every query is checked here again, by brute force over the texts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.bench.collection import CollectionError, from_folder
from assay.bench.datasets import load
from assay.bench.synth.generated import Made
from assay.bench.synth.library import MOST_RELEVANT, Library
from assay.bench.synth.links import links_of
from assay.bench.synth.names import is_typed
from assay.bench.synth.paraphrase import definitions
from assay.bench.synth.plain import lowered, plain
from assay.bench.synth.quoting import rarest
from assay.bench.synth.round_robin import spread
from assay.bench.synth.suite import Suite, make
from assay.bench.synth.write import write_suite
from assay.text.analyse import Analyser
from tests.bench.small_docs import write_docs

HANDBOOK = Path(__file__).parents[2] / "examples" / "handbook"


@pytest.fixture(scope="module")
def suite() -> Suite:
    return make(from_folder(HANDBOOK), 120)


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(from_folder(write_docs(tmp_path / "docs")).documents, Analyser())


def every(suite: Suite) -> list[Made]:
    return [made for all_made in suite.queries.values() for made in all_made]


def holds(suite: Suite, place: int, terms: list[str]) -> bool:
    document = suite.library.documents[place]
    sections = "\n".join(passage.section for passage in document.passages)
    return set(terms) <= set(Analyser().terms(f"{document.title}\n{sections}\n{document.text}"))


def test_the_sample_gives_queries_of_many_kinds(suite: Suite) -> None:
    assert suite.size == 120
    assert {"keywords", "heading", "identifier", "masked", "phrase", "unanswerable"} <= set(suite.queries)
    texts = [made.text.casefold() for made in every(suite)]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("kind", ["keywords", "phrase", "masked", "heading"])
def test_exactly_the_relevant_documents_hold_all_terms_of_a_query(suite: Suite, kind: str) -> None:
    for made in suite.queries[kind]:
        terms = Analyser().query_terms(made.text)
        holders = [p for p in range(len(suite.library.documents)) if holds(suite, p, terms)]
        assert holders == [r.document for r in made.relevant], made
        assert 1 <= len(holders) <= MOST_RELEVANT
        assert all(r.spots for r in made.relevant)


@pytest.mark.parametrize("kind", ["keywords", "phrase", "masked"])
def test_the_evidence_holds_the_query(suite: Suite, kind: str) -> None:
    for made in suite.queries[kind]:
        for relevant in made.relevant:
            text = suite.library.documents[relevant.document].text
            for spot in relevant.spots:
                said = Analyser().terms(text[spot.start : spot.end])
                assert set(Analyser().query_terms(made.text)) <= set(said), made


def test_every_document_with_an_identifier_is_relevant(suite: Suite) -> None:
    for made in suite.queries["identifier"]:
        name = next(word for word in made.text.split() if not word.isalpha())
        holders = [p for p, d in enumerate(suite.library.documents) if name.lower() in f"{d.title}\n{d.text}".lower()]
        assert holders == [r.document for r in made.relevant], made
        assert max(r.grade for r in made.relevant) == 2


def test_nothing_answers_the_unanswerable(suite: Suite) -> None:
    assert len(suite.queries["unanswerable"]) >= 4
    for made in suite.queries["unanswerable"]:
        terms = Analyser().query_terms(made.text)
        assert not any(holds(suite, p, terms) for p in range(len(suite.library.documents))), made
        assert all(relevant.grade == 0 for relevant in made.relevant)


def test_documents_take_turns(suite: Suite) -> None:
    drawn = [made.relevant[0].document for made in suite.queries["phrase"]]
    first = drawn[: len(set(drawn))]
    assert len(set(first)) == len(first)


def test_copies_and_boilerplate_are_not_drawn_from(library: Library) -> None:
    drawn = {library.documents[s.document].id for s in library.own_sentences}
    assert drawn == {"docs/keys.md", "docs/incidents.md", "docs/gateway.md"}


def test_a_copy_that_holds_a_query_is_relevant_too(library: Library) -> None:
    places = {document.id: place for place, document in enumerate(library.documents)}
    relevant = library.judged("warm lunch soup", places["docs/food.md"])
    assert {library.documents[r.document].id for r in relevant} == {"docs/food.md", "docs/copy.md"}


def test_terms_scattered_over_another_document_make_a_query_ambiguous(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("The heron sleeps on the crane beside the warehouse.")
    (docs / "b.md").write_text("A heron came. A crane fell. A warehouse burned.")
    library = Library(from_folder(docs).documents, Analyser())
    assert library.judged("heron crane warehouse", 0) == ()
    assert [r.document for r in library.judged("heron sleeps crane", 0)] == [0]


def test_links_lead_to_documents_beside_and_anchors_become_queries(library: Library, tmp_path: Path) -> None:
    found = [(link.anchor, library.documents[link.target].id) for link in links_of(library)]
    assert found == [("what to do when a token is lost", "docs/incidents.md"), ("the canteen", "docs/food.md")]
    made = make(from_folder(tmp_path / "docs"), 60).queries["anchor"]
    assert [one.text for one in made] == ["what to do when a token is lost"]  # "the canteen" says one word only
    assert made[0].meta == {"source_pages": ["docs/keys.md"]}


def test_links_from_the_root_of_a_site_are_found_under_any_prefix(tmp_path: Path) -> None:
    (tmp_path / "docs/guide").mkdir(parents=True)
    (tmp_path / "docs/guide/_index.md").write_text("# Guide\nSailing guide of the harbour.")
    (tmp_path / "docs/a.md").write_text(
        "[one](/site/docs/guide/) [two](/docs/guide) [three](guide/_index.md) [far](https://host/guide) "
        "[none](/x/y/z) [self](a.md) [four](/guide#part)"
    )
    library = Library(from_folder(tmp_path / "docs").documents, Analyser())
    assert [link.anchor for link in links_of(library)] == ["one", "two", "three", "four"]


def test_an_abbreviation_is_spelt_out_as_the_collection_says(library: Library, tmp_path: Path) -> None:
    assert definitions(library) == {"HSM": "hardware security module"}
    made = make(from_folder(tmp_path / "docs"), 60).queries["abbreviation"]
    assert made[0].text.startswith("hardware security module ")
    assert [library.documents[r.document].id for r in made[0].relevant] == ["docs/incidents.md"]


def test_a_description_is_a_query_for_its_document(library: Library, tmp_path: Path) -> None:
    made = make(from_folder(tmp_path / "docs"), 60).queries["description"]
    assert [one.text for one in made] == ["How the firmware keys are rotated and who may touch them"]
    assert [library.documents[r.document].id for r in made[0].relevant] == ["docs/keys.md"]


def test_how_words_are_typed() -> None:
    assert plain("- **Rotate** the [key](x.md) `now`.") == "Rotate the key now."
    assert plain("3. Run it") == "Run it"
    assert [lowered(word) for word in ("Rotate", "GitLab", "SLA", "A", "C")] == ["rotate", "GitLab", "SLA", "a", "C"]


def test_a_spread_draw_goes_round() -> None:
    items = [("a", "1"), ("a", "2"), ("a", "3"), ("b", "1"), ("c", "1"), ("c", "2")]
    found = list(spread(items, lambda item: item, 0, "kind"))
    assert sorted(found) == sorted(items)
    assert {document for document, _ in found[:3]} == {"a", "b", "c"}
    assert {document for document, _ in found[3:5]} == {"a", "c"}
    assert found == list(spread(reversed(items), lambda item: item, 0, "kind"))


def test_another_seed_draws_other_queries(suite: Suite) -> None:
    other = make(from_folder(HANDBOOK), 120, seed=1)
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
        write_suite(make(from_folder(docs), 30), tmp_path / name / "suite", source="docs", seed=0)
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
        make(from_folder(docs), 10)


def test_keywords_are_words_somebody_searches_by(library: Library) -> None:
    said = "The gateways of a harbour gateway always get packets and dashboards from gauges."
    chosen = rarest(library, library.words(said), 9)
    assert [word.text for word in chosen] == ["gateways", "packets", "dashboards", "gauges"]  # harbour is too common


@pytest.mark.parametrize("name", ["VAULT_SLOT_ID", "CVE-2024-4711", "v4.2.0", "--dry-run", "camelCase"])
def test_names_that_people_type(name: str) -> None:
    assert is_typed(name)


@pytest.mark.parametrize(
    "name", ["word", "API", "30-day", "a@b.org", "index.html", "ffc928", "u5iT7vcy", "John's", ".css-x"]
)
def test_names_that_nobody_types(name: str) -> None:
    assert not is_typed(name)
