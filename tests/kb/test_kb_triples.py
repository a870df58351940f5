"""Readers of triples: a third party's, installed as `pip` would, asked once for every chunk, wherever it is kept."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from counting import Hashing

import assay
from assay import embed
from assay.cli.main import cli
from assay.errors import BadFile, ConfigError, LawBroken, StoreError
from assay.ingest.triples import MOST
from assay.testing.triples import check_triple_reader
from assay.types import Chunk
from assay.upkeep import annotate

READER = '''
import re

asked = []

class Knows:
    """`X knows Y` in a text, as a language model would put it; the argument is the relation it looks for."""

    def __init__(self, relation):
        self.relation = relation or "knows"

    def triples(self, chunk):
        asked.append(chunk.id)
        if "BROKEN" in chunk.text:
            raise TimeoutError("the model did not answer\\nin time")
        if "ODD" in chunk.text:
            return [("one", "two")]
        return [(a, self.relation, b) for a, b in re.findall(rf"(\\w+) {self.relation} (\\w+)", chunk.text)]
'''
NOTES = [
    {"id": "one", "text": "today gus knows hal."},
    {"id": "two", "text": "and hal knows ivy, at last."},
    {"id": "far", "text": "nothing of that kind."},
]


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Installs the reader; the ids of the chunks it was asked about."""
    facts = tmp_path / "site" / "assay_knows-1.0.dist-info"
    facts.mkdir(parents=True)
    (tmp_path / "site" / "assay_knows.py").write_text(READER)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: assay-knows\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[assay.triples]\nknows = assay_knows:Knows\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.delitem(sys.modules, "assay_knows", raising=False)
    import assay_knows  # type: ignore[import-not-found]

    return assay_knows.asked


@pytest.fixture
def place(any_store: str) -> str:
    return any_store


def said(base: assay.KnowledgeBase) -> dict[str, object]:
    return {chunk.doc_id: chunk.meta.get("triples") for chunk in base.chunks()}


READ = {"one": ["gus | knows | hal"], "two": ["hal | knows | ivy"], "far": []}


def test_what_a_reader_says_joins_chunks(tmp_path: Path, asked: list[str]) -> None:
    """Small letters are no names: without the reader nothing joins the two."""
    with assay.open(tmp_path / "without", embedder="none") as base:
        base.add(NOTES)
        assert [hit.chunk.doc_id for hit in base.search("gus", pipeline="weighted")] == ["one"]
    with assay.open(tmp_path / "kb", embedder="none", triples="knows") as base:
        base.add(NOTES)
        answer = base.search("gus", pipeline="weighted")
        assert [hit.chunk.doc_id for hit in answer] == ["one", "two"]
        assert "over hal" in answer[1].why()
        assert answer[0].chunk.meta["triples_by"] == "knows"


def test_it_is_asked_once_for_each_chunk(place: str, asked: list[str]) -> None:
    with assay.open(place, embedder="none", triples="knows") as base:
        base.add(NOTES)
        assert (said(base), len(asked)) == (READ, 3)
        assert base.add(NOTES).unchanged == 3
        changed = [NOTES[0], {**NOTES[1], "text": "and hal knows joe, at last."}, {**NOTES[2], "mood": "calm"}]
        assert base.add(changed).unchanged == 1
        assert len(asked) == 4  # other metadata is no other text
        assert said(base) == {**READ, "two": ["hal | knows | joe"]}
    with assay.open(place) as base:  # the store remembers its reader
        base.add([{"id": "new", "text": "joe knows kim."}])
        assert said(base)["new"] == ["joe | knows | kim"]


def test_unchanged_chunks_of_a_changed_file_are_not_asked_again(tmp_path: Path, asked: list[str]) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    part = "\n\n".join(f"## Part {i}\n\n{'word ' * 120} p{i} knows q{i}." for i in range(4))
    (docs / "a.md").write_text(part)
    with assay.open(tmp_path / "kb", embedder="none", triples="knows") as base:
        base.add(docs)
        first = len(asked)
        assert first >= 4
        (docs / "a.md").write_text(part + "\n\n## More\n\nr knows s.")
        base.add(docs)
        assert len(asked) == first + 1
        assert all(chunk.meta["triples"] for chunk in base.chunks())


def test_a_filled_store_is_read_later_and_goes_on_where_it_stopped(
    place: str, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(annotate, "BATCH", 1)
    notes = [*NOTES, {"id": "zzz", "text": "gus knows hal BROKEN"}]
    with assay.open(place, embedder="none") as base:
        base.add(notes)
        with pytest.raises(BadFile, match="the model did not answer") as told:
            base.read_triples("knows")
        assert "mend knows" in told.value.cure
        read = [one for one in said(base).values() if one is not None]
        base.add([{"id": "zzz", "text": "gus knows hal"}])
        steps: list[tuple[str, int, int]] = []
        base.read_triples("knows", lambda *step: steps.append(step))
        assert said(base) == {**READ, "zzz": ["gus | knows | hal"]}
        assert steps[-1] == ("reading triples", 4, 4)
        assert len(asked) == 4 + (1 if len(read) < 4 else 0)
        assert base.read_triples("knows") == 0
        assert base.read_triples("knows:likes") == 4  # another reader has another view
        assert base.store.find_damage(deep=True) == ""
        base.read_triples("none")
    with assay.open(place) as base:
        base.add([{"id": "new", "text": "joe knows kim."}])
        assert said(base)["new"] is None


def test_reading_keeps_vectors_files_and_older_versions(tmp_path: Path, asked: list[str], monkeypatch) -> None:
    model = Hashing(16)
    monkeypatch.setattr(embed, "load", lambda _: model)
    (tmp_path / "a.md").write_text("# A\n\ngus knows hal.")
    with assay.open(tmp_path / "kb", embedder="hashing") as base:
        base.add(tmp_path / "a.md")
        before, version = list(base.export(with_vectors=True)), base.store.version()
        vectors = base.snapshot().vectors(base.snapshot().live_rows(None))
        done = len(model.texts)
        assert base.read_triples("knows") == 1
        assert len(model.texts) == done
        view = base.snapshot()
        np.testing.assert_array_equal(view.vectors(view.live_rows(None)), vectors)
        assert base.add(tmp_path / "a.md").unchanged == 1
        old = base.snapshot(f"v{version}")
        assert "triples" not in old.chunks(old.live_rows(None))[0].meta
        assert list(base.export(with_vectors=True)) != before


def test_triples_that_a_document_brings_are_left_alone(tmp_path: Path, asked: list[str]) -> None:
    with assay.open(tmp_path / "kb", embedder="none", triples="knows") as base:
        base.add([{"id": "own", "text": "gus knows hal", "triples": ["a | b | c"]}])
        assert (said(base), asked) == ({"own": ["a | b | c"]}, [])
        assert base.read_triples("knows") == 0


def test_a_reader_that_fails_costs_its_file_and_no_other(place: str, tmp_path: Path, asked: list[str]) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("gus knows hal")
    (docs / "b.md").write_text("BROKEN")
    (docs / "c.md").write_text("ODD")
    with assay.open(place, embedder="none", triples="knows") as base:
        report = base.add(docs)
        assert (report.added, sorted(said(base))) == (1, ["docs/a.md"])
        problems = {name: str(reason) for name, reason in report.problems}
        assert problems["docs/b.md"] == (
            "knows could not read triples: the model did not answer; cure: mend knows, or add without it"
        )
        assert "gave ('one', 'two') as a triple" in problems["docs/c.md"]
        records = base.add([{"id": "bad", "text": "BROKEN"}, {"id": "good", "text": "hal knows ivy"}])
        assert (records.added, [name for name, _ in records.problems]) == (1, ["records/bad"])
        (docs / "b.md").write_text("mended")
        assert base.add(docs).added == 1


def test_an_unknown_reader_makes_no_store(tmp_path: Path, asked: list[str]) -> None:
    with pytest.raises(ConfigError, match="no reader of triples is called 'know'") as told:
        assay.open(tmp_path / "kb", triples="know")
    assert "did you mean 'knows'?" in told.value.cure
    assert not (tmp_path / "kb").exists()
    assay.open(tmp_path / "kb", embedder="none").close()
    with pytest.raises(StoreError, match="made with triples 'none', not 'knows'") as refused:
        assay.open(tmp_path / "kb", triples="knows")
    assert "assay optimize --triples knows" in refused.value.cure


def test_a_reader_that_is_not_here_stops_adding_and_nothing_else(tmp_path: Path, asked: list[str], monkeypatch) -> None:
    with assay.open(tmp_path / "kb", embedder="none", triples="knows") as base:
        base.add(NOTES)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place != str(tmp_path / "site")])
    importlib.invalidate_caches()
    with assay.open(tmp_path / "kb") as base:
        assert [hit.chunk.doc_id for hit in base.search("gus", pipeline="weighted")] == ["one", "two"]
        with pytest.raises(ConfigError, match="no reader of triples is called 'knows' on this machine") as told:
            base.add([{"text": "more"}])
        assert "assay optimize --triples none" in told.value.cure
        base.read_triples("none")
        assert base.add([{"text": "more"}]).added == 1


def test_by_command(place: str, tmp_path: Path, asked: list[str]) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("gus knows hal")

    def run(*words: object) -> str:
        done = CliRunner().invoke(cli, [*map(str, words), "--store", place])
        assert done.exit_code == 0, done.output
        return done.output

    run("add", tmp_path / "docs", "--embedder", "none")
    assert "read the triples of 1 chunk" in run("optimize", "--triples", "knows")
    assert "triples  read by knows" in run("stats")
    (tmp_path / "docs" / "b.md").write_text("hal knows ivy")
    run("add", tmp_path / "docs")
    with assay.open(place) as base:
        assert said(base) == {"docs/a.md": ["gus | knows | hal"], "docs/b.md": ["hal | knows | ivy"]}


class Says:
    """A reader that says what it is told to."""

    def __init__(self, *given: object) -> None:
        self.given = given
        self.times = 0

    def triples(self, chunk: Chunk):  # type: ignore[no-untyped-def]
        self.times += 1
        return [self.times if one is Says else one for one in self.given]


def test_the_contract_can_fail() -> None:
    check_triple_reader(Says(("a", "b", "c"), ["d", "e|f", "g\0"]))
    check_triple_reader(Says())
    check_triple_reader(Says(*[("a", "b", f"c{i}") for i in range(10 * MOST)]))
    for bad in ("abc", ("a", "b"), ("a", "b", ""), ("a", "b", 3), ("a", " | ", "c"), None):
        with pytest.raises(LawBroken, match="as a triple"):
            check_triple_reader(Says(bad))  # type: ignore[arg-type]
    with pytest.raises(LawBroken, match="no method"):
        check_triple_reader(object())  # type: ignore[arg-type]

    class Moody(Says):
        def triples(self, chunk: Chunk):  # type: ignore[no-untyped-def]
            self.times += 1
            return [("a", "b", f"c{self.times}")]

    class Rude(Says):
        def triples(self, chunk: Chunk):  # type: ignore[no-untyped-def]
            chunk.meta["mine"] = 1  # type: ignore[index]
            return []

    with pytest.raises(LawBroken, match="two runs differ"):
        check_triple_reader(Moody())
    with pytest.raises(LawBroken, match="changed the chunk's metadata"):
        check_triple_reader(Rude(), [Chunk("c", "d", "t", 1, meta={})])
