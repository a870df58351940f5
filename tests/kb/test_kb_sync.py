"""A folder and its store in step: what changed is taken in, what vanished goes, what is bad is told, nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from corpus import expected, mark_of, text_of, write
from counting import Hashing
from disks import as_nobody, open_to_all

import assay
from assay import embed, sync
from assay.errors import BadRecord, Reason, StoreError
from assay.ingest.add_report import Event
from assay.ingest.discovery import discover
from assay.kb import KnowledgeBase
from assay.store import spool
from assay.store.rows import FileState, encode_row
from assay.types import Chunk


@pytest.fixture
def base(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with assay.open(tmp_path / "kb", embedder="none") as made:
        yield made


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write(tmp_path / "docs", range(5))


def rows(base: KnowledgeBase) -> dict[str, int]:
    """id → row of the store, of every live chunk; an untouched chunk keeps its row."""
    return dict(base.store.live_at(base.store.version()))


def documents(base: KnowledgeBase) -> set[str]:
    return {chunk.doc_id for chunk in base.chunks()}


def marks(base: KnowledgeBase, number: int, revision: int = 0) -> int:
    return len(base.search(mark_of(number, revision), k=50, pipeline="bm25"))


def test_unchanged_costs_nothing(base: KnowledgeBase, docs: Path) -> None:
    first = base.add(docs)
    assert (first.added, first.chunks_added, first.problems) == (5, sum(1 for _ in base.chunks()), [])
    before = rows(base)
    for path in docs.iterdir():
        path.touch()  # a new time is no new content
    again = base.add(docs)
    assert (again.added, again.changed, again.unchanged, again.removed) == (0, 0, 5, 0)
    assert (again.chunks_added, again.chunks_removed) == (0, 0)
    assert (again.version, rows(base)) == (first.version, before)


def test_one_paragraph_changed(base: KnowledgeBase, docs: Path) -> None:
    """Only the chunks of the section that was touched are born and die."""
    base.add(docs)
    before = rows(base)
    path = docs / "00002.md"
    old = expected(path, "docs/00002.md")
    path.write_text(path.read_text().replace("## Part 1\n\n", "## Part 1\n\nA new sentence stands here. "))
    new = expected(path, "docs/00002.md")
    report = base.add(docs)
    assert (report.changed, report.unchanged) == (1, 4)
    assert report.chunks_added == len(new.keys() - old.keys()) == 1
    assert report.chunks_removed == len(old.keys() - new.keys()) == 1
    after = rows(base)
    kept = before.keys() & after.keys()
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}
    assert len(kept) == len(before) - 1


def test_renamed_deleted_and_new(base: KnowledgeBase, docs: Path) -> None:
    base.add(docs)
    (docs / "00001.md").rename(docs / "renamed.md")
    (docs / "00003.md").unlink()
    write(docs, [9])
    report = base.add(docs)
    assert (report.added, report.removed, report.unchanged) == (2, 2, 3)
    assert documents(base) == {f"docs/{path.name}" for path in docs.iterdir()}
    assert marks(base, 1) == 3
    assert {hit.chunk.doc_id for hit in base.search(mark_of(1), pipeline="bm25")} == {"docs/renamed.md"}
    assert marks(base, 3) == 0
    assert marks(base, 9) == 3


def test_a_folder_inside_deleted(base: KnowledgeBase, docs: Path) -> None:
    write(docs / "deep" / "deeper", range(20, 23))
    assert base.add(docs).added == 8
    for path in (docs / "deep" / "deeper").iterdir():
        path.unlink()
    (docs / "deep" / "deeper").rmdir()
    assert base.add(docs).removed == 3
    assert len(documents(base)) == 5


def test_everything_deleted(base: KnowledgeBase, docs: Path) -> None:
    base.add(docs)
    for path in docs.iterdir():
        path.unlink()
    assert base.add(docs).removed == 5
    assert documents(base) == set()


def test_a_file_becomes_a_folder_and_back(base: KnowledgeBase, docs: Path) -> None:
    base.add(docs)
    path = docs / "00000.md"
    path.unlink()
    write(path, [7])
    report = base.add(docs)
    assert (report.added, report.removed) == (1, 1)
    assert "docs/00000.md/00007.md" in documents(base)
    assert marks(base, 0) == 0
    (path / "00007.md").unlink()
    path.rmdir()
    write(docs, [0])
    report = base.add(docs)
    assert (report.added, report.removed) == (1, 1)
    assert documents(base) == {f"docs/{number:05d}.md" for number in range(5)}


def test_a_file_that_turns_bad(base: KnowledgeBase, docs: Path) -> None:
    """It is reported; what it said when it was good stays; the others go on; mended, it is taken in again."""
    (docs / "records.jsonl").write_text('{"id": "a", "text": "good gateway"}\n{"id": "b", "text": "also good"}\n')
    base.add(docs)
    before = rows(base)
    (docs / "records.jsonl").write_text('{"id": "a", "text": "good gateway"}\n{"id": "b", "text": \n')
    (docs / "00001.md").write_bytes(b"\x00\x01\x02 not a text at all \x00" * 50)
    write(docs, [2], revision=1)
    for _ in range(2):
        report = base.add(docs)
        assert sorted(name for name, _ in report.problems) == ["docs/00001.md", "docs/records.jsonl"]
        assert all(why.cure for _, why in report.problems)
    assert marks(base, 1) == 3
    assert marks(base, 2, revision=1) == 3
    assert len(base.search("good", k=9, pipeline="bm25")) == 2
    assert all(rows(base)[name] == row for name, row in before.items() if name in rows(base))
    (docs / "records.jsonl").write_text('{"id": "b", "text": "also good"}\n')
    write(docs, [1], revision=5)
    report = base.add(docs)
    assert (report.changed, report.problems) == (2, [])
    assert len(base.search("good", k=9, pipeline="bm25")) == 1
    assert (marks(base, 1), marks(base, 1, revision=5)) == (0, 3)


def test_a_new_bad_file(base: KnowledgeBase, docs: Path) -> None:
    (docs / "liar.pdf").write_bytes(b"I am not a PDF")
    (docs / "empty.md").write_bytes(b"")
    (docs / "strange.xyz").write_text("nothing reads me")
    report = base.add(docs)
    assert report.added == 6
    assert [name for name, _ in report.problems] == ["docs/liar.pdf"]
    assert [name for name, _ in report.ignored] == ["docs/strange.xyz"]


def test_what_cannot_be_read_is_not_deleted(base: KnowledgeBase, docs: Path) -> None:
    """A link that leads in a circle: the file may still be there, so its chunks are."""
    base.add(docs)
    (docs / "00001.md").unlink()
    (docs / "00001.md").symlink_to(docs / "00001.md")
    for _ in range(2):
        report = base.add(docs)
        assert [name for name, _ in report.problems] == ["docs/00001.md"]
        assert report.removed == 0
    assert marks(base, 1) == 3
    one = base.sync().one(docs, docs / "00001.md", "docs")
    assert (len(one.problems), one.removed, marks(base, 1)) == (1, 0, 3)
    (docs / "00001.md").unlink()
    one = base.sync().one(docs, docs / "00001.md", "docs")
    assert (one.problems, one.removed, marks(base, 1)) == ([], 1, 0)


def test_a_folder_that_cannot_be_read(base: KnowledgeBase, docs: Path) -> None:
    """Its files are not thought deleted. As another user, because root may read everything."""
    base.add(docs)
    assert marks(base, 1) == 3
    with open_to_all() as open_folder:
        folder = write(open_folder / "docs", range(3))
        write(folder / "locked", [10, 11])

        def first() -> None:
            with assay.open(open_folder / "kb", embedder="none") as mine:
                assert mine.add(folder).added == 5

        def second() -> None:
            with assay.open(open_folder / "kb") as mine:
                for _ in range(2):
                    report = mine.add(folder)
                    assert ([name for name, _ in report.problems], report.removed) == (["docs/locked"], 1)
                    assert marks(mine, 10) == marks(mine, 11) == 3
                    write(folder, [2])
                    mine.add(folder)
                    (folder / "00002.md").unlink()

        as_nobody(first)
        folder.chmod(0o777)
        (folder / "locked").chmod(0o700)
        (folder / "00002.md").unlink()
        as_nobody(second)


def test_names_of_sources(base: KnowledgeBase, tmp_path: Path, docs: Path) -> None:
    """A name belongs to one folder; another is refused unless it is the same, moved; then nothing is read twice."""
    base.add(docs, name="rules")
    assert documents(base) == {f"rules/{number:05d}.md" for number in range(5)}
    other = write(tmp_path / "other", [77])
    with pytest.raises(StoreError, match="stands for") as caught:
        base.add(other, name="rules")
    assert "--as" in caught.value.cure
    assert "--moved" in caught.value.cure
    assert len(documents(base)) == 5
    before = rows(base)
    moved = docs.rename(tmp_path / "moved")
    report = base.add(moved, name="rules", moved=True)
    assert (report.unchanged, report.removed, rows(base)) == (5, 0, before)
    assert base.add(moved, name="rules").unchanged == 5
    for bad in ("a/b", "/", "rules/00001.md"):
        with pytest.raises(StoreError, match="cannot be a folder's name"):
            base.add(moved, name=bad)


def test_two_sources(base: KnowledgeBase, tmp_path: Path, docs: Path) -> None:
    """Each is synced by itself, also when they hold the same files; a single file is a source too."""
    twin = write(tmp_path / "twin", range(5))
    base.add(docs)
    base.add(twin)
    base.add(docs / "00003.md")
    assert len(documents(base)) == 11
    assert marks(base, 3) == 9
    (docs / "00003.md").unlink()
    base.add(docs)
    assert {hit.chunk.doc_id for hit in base.search(mark_of(3), k=20, pipeline="bm25")} == {"twin/00003.md", "00003.md"}
    assert base.remove("twin") == 15
    assert documents(base) == {*(f"docs/{n:05d}.md" for n in (0, 1, 2, 4)), "00003.md"}
    assert base.add(twin).added == 5


def test_records(base: KnowledgeBase) -> None:
    """Added or replaced by id; what is not mentioned stays; the same again is nothing."""
    first = base.add([{"id": "a", "text": "gateway one"}, {"id": "b", "text": "gateway two"}, "gateway three"])
    assert (first.added, first.chunks_added) == (3, 3)
    again = base.add([{"id": "b", "text": "gateway two"}, "gateway three"])
    assert (again.unchanged, again.version) == (2, first.version)
    changed = base.add([{"id": "a", "text": "gateway uno"}, {"id": "c", "text": "gateway four"}])
    assert (changed.changed, changed.added, changed.chunks_removed) == (1, 1, 1)
    assert {hit.text for hit in base.search("gateway")} == {
        "gateway uno",
        "gateway two",
        "gateway three",
        "gateway four",
    }
    twice = base.add([{"id": "d", "text": "gateway first"}, {"id": "d", "text": "gateway last"}])
    assert twice.problems == []
    assert [c.text for c in base.chunks('doc_id = "d"')] == ["gateway last"]
    assert base.remove("a") == 1
    assert base.remove("records/b") == 1


def test_records_of_two_names(base: KnowledgeBase) -> None:
    """The same records under two names are two documents; ids begin with the name."""
    for name in ("x", "y"):
        base.add([{"id": "1", "text": "gateway"}, "no id"], name=name)
    base.add([{"id": "1", "text": "gateway"}, "no id"])
    assert len(base.search("gateway", pipeline="bm25")) == 3
    assert {"x/1", "y/1", "1"} <= documents(base)
    assert base.remove("x") == 2
    assert len(documents(base)) == 4


def test_records_and_folders_do_not_share_a_name(base: KnowledgeBase, tmp_path: Path) -> None:
    """Syncing a folder deletes what is not in it: records under the same name would be lost."""
    base.add([{"id": "precious", "text": "gateway"}], name="notes")
    folder = write(tmp_path / "notes", [1])
    for moved in (False, True):
        with pytest.raises(StoreError, match="records given as data") as caught:
            base.add(folder, moved=moved)
        assert "--moved" not in caught.value.cure
    assert documents(base) == {"notes/precious"}
    base.add(folder, name="files")
    with pytest.raises(StoreError, match="stands for"):
        base.add([{"id": "x", "text": "y"}], name="files")


def test_a_bad_record(base: KnowledgeBase) -> None:
    with pytest.raises(BadRecord, match="text"):
        base.add([{"id": "good", "text": "gateway"}, {"id": "bad"}])
    for odd in (
        [{"id": "a\0b\ud800", "text": "nul \0 and \ud800 gateway"}],
        [{"id": "n", "text": "gateway", "n": 10**400}],
    ):
        assert base.add(odd).added == 1
    base.optimize()
    assert len(base.search("gateway", k=9)) >= 2


def test_part_of_a_file_removed_by_hand(base: KnowledgeBase, docs: Path) -> None:
    """The next add brings it back, as the file still says it; and if the file goes, all of it goes."""
    base.add(docs)
    chunk = next(base.chunks('doc_id = "docs/00001.md"'))
    assert base.remove(chunk.id[:12]) == 1
    assert marks(base, 1) == 2
    assert base.add(docs).changed == 1
    assert marks(base, 1) == 3
    base.remove(chunk.id)
    (docs / "00001.md").unlink()
    assert base.add(docs).removed == 1
    assert marks(base, 1) == 0
    base.remove(next(base.chunks()).id)
    assert base.remove("docs") == len(rows(base)) + 11
    assert documents(base) == set()


def test_two_files_that_claim_one_chunk(base: KnowledgeBase, docs: Path) -> None:
    """The name of a record may be the name of a file, and their texts the same: one is told, the others go on."""
    (docs / "zz.jsonl").write_text('{"id": "1.md", "text": "the very same gateway"}\n')
    (docs / "zz.jsonl#1.md").write_text("the very same gateway")
    report = base.add(docs)
    ((name, why),) = report.problems
    assert name == "docs/zz.jsonl#1.md"
    assert "already in use" in why.text
    assert report.added == 6
    assert len(base.search("the very same gateway", k=1, pipeline="bm25")) == 1
    assert marks(base, 4) == 3
    assert (base.add(docs).unchanged, len(base.add(docs).problems)) == (6, 1)


@pytest.mark.parametrize("how", ["plain", "by a link", "by a detour"])
def test_a_store_inside_its_folder(tmp_path: Path, how: str) -> None:
    docs = write(tmp_path / "docs", range(3))
    (docs / "circle.md").symlink_to(docs / "circle.md")
    (tmp_path / "link").symlink_to(docs)
    path = {"plain": docs, "by a link": tmp_path / "link", "by a detour": docs / ".." / "docs"}[how]
    with assay.open(docs / "kb", embedder="none") as base:
        for _ in range(3):
            report = base.add(path)
            base.optimize()
            assert report.files == 3
            assert all("kb" not in name for name, _ in report.ignored)


def test_a_file_of_many_chunks(base: KnowledgeBase, tmp_path: Path) -> None:
    """More than fits into memory at once: a commit for a part and one for the rest; when a late line is bad, the old
    state stays, whole."""
    path = tmp_path / "big.jsonl"
    count = spool.MAX_ROWS_IN_MEMORY + 2_500

    def fill(word: str, lines: int) -> None:
        with path.open("w") as file:
            for number in range(lines):
                file.write(json.dumps({"id": number, "text": f"{word} {number}"}) + "\n")

    fill("gateway", 100)
    base.add(path, compact=False)
    fill("gateway", count)
    versions = base.store.version()
    report = base.add(path, compact=False)
    assert (report.chunks_added, report.chunks_kept) == (count - 100, 100)
    assert report.version == versions + 2
    assert base.store.count_since(0) == count
    with path.open("a") as file:
        file.write("this is not JSON\n")
    report = base.add(path, compact=False)
    assert len(report.problems) == 1
    assert report.version == versions + 2
    fill("portal", 50)
    report = base.add(path, compact=False)
    assert (report.chunks_added, report.chunks_removed) == (50, count)
    assert {p.name for p in base.store.folder.iterdir()} <= {
        "assay.sqlite",
        "assay.sqlite-wal",
        "assay.sqlite-shm",
        "assay.sqlite-commits",
    }


# -- what is embedded


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hashing:
    """A real embedder under the name `hashing`; its cache is of this test."""
    made = Hashing()
    load = embed.load
    monkeypatch.setattr(embed, "load", lambda spec: made if spec == "hashing" else load(spec))
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    return made


def test_only_what_changed_is_embedded(tmp_path: Path, model: Hashing) -> None:
    docs = write(tmp_path / "docs", range(4))
    with assay.open(tmp_path / "kb", embedder="hashing") as base:
        base.add(docs)
        assert sorted(model.texts) == sorted(chunk.indexed_text for chunk in base.chunks())
        model.texts.clear()
        base.add(docs)
        assert model.texts == []
        path = docs / "00002.md"
        path.write_text(path.read_text().replace("## Part 1\n\n", "## Part 1\n\nA new sentence. "))
        base.add(docs)
        assert len(model.texts) == 1
        assert "A new sentence." in model.texts[0]
        model.texts.clear()
        (docs / "00001.md").rename(docs / "moved.md")  # another document, the same texts: the cache knows them
        report = base.add(docs)
        assert (report.added, report.removed, model.texts) == (1, 1, [])
        assert base.store.rows_without_vector() == []
        base.search("a question", pipeline="dense")
        assert model.queries == ["a question"]
        for _ in range(2):
            for text in (text_of(0, sections=1), "gateway invoice holiday"):
                check_nearest(base, model, text)
            base.optimize(force=True)


def test_an_interrupted_long_file_goes_on(tmp_path: Path, model: Hashing, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the middle of one long file keeps its committed parts, and the next run embeds only the rest."""
    monkeypatch.setattr(sync, "_BATCH", 16)
    monkeypatch.setattr(sync, "_PART", 64)
    path = tmp_path / "long.jsonl"
    path.write_text("".join(json.dumps({"id": n, "text": f"entry {n} of the log"}) + "\n" for n in range(300)))
    seen: list[int] = []

    def stop(event: Event) -> None:
        seen.append(event.chunks)
        if event.chunks >= 200:
            raise KeyboardInterrupt

    with assay.open(tmp_path / "kb", embedder="hashing") as base:
        with pytest.raises(KeyboardInterrupt):
            base.add(path, on_event=stop)
        assert seen == sorted(seen)
        assert len(seen) > 5
        kept = sum(1 for _ in base.chunks())
        assert kept % 64 == 0
        assert kept >= 128
        assert len(base.search("entry 3 of the log", pipeline="dense", k=5)) == 5
        model.texts.clear()
        report = base.add(path)
        assert len(model.texts) <= 300 - kept
        assert (report.chunks_added, report.chunks_kept, report.files) == (300 - kept, kept, 1)
        assert base.add(path).unchanged == 1
        assert base.store.rows_without_vector() == []


def test_a_long_file_loses_an_eighth_at_most(tmp_path: Path, model: Hashing, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first part is as small as a batch of small files; later ones grow, or every part would read the whole file
    that is in the store."""
    assert sync._PART <= sync._BATCH
    monkeypatch.setattr(sync, "_BATCH", 16)
    monkeypatch.setattr(sync, "_PART", 16)
    path = tmp_path / "long.jsonl"
    path.write_text("".join(json.dumps({"id": n, "text": f"entry {n} of the log"}) + "\n" for n in range(1_000)))

    def stop(event: Event) -> None:
        if event.chunks >= 900:
            raise KeyboardInterrupt

    with assay.open(tmp_path / "kb", embedder="hashing") as base:
        with pytest.raises(KeyboardInterrupt):
            base.add(path, on_event=stop)
        assert sum(1 for _ in base.chunks()) >= 900 * 7 // 8 - 16
        assert base.store.version() < 30


def test_a_long_file_that_fails_late_leaves_nothing(
    base: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync, "_BATCH_UNEMBEDDED", 16)
    path = tmp_path / "long.txt"
    path.write_text("x")

    def parts(lines: int, fails: bool) -> Iterator[tuple[str, object]]:
        yield "hash", f"{lines}{fails}"
        for number in range(lines):
            yield "chunks", [encode_row(Chunk(f"c{number}", "long.txt", f"{lines} text {number}", 2))]
        if fails:
            yield "problem", Reason("changed while it was read")

    file = next(iter(discover(path)))
    facts = FileState("long.txt", "long.txt", "", 1)
    for known, lines, fails, left in ((False, 100, True, 0), (False, 40, False, 40), (True, 100, True, 40)):
        run = base.sync()
        run._add_file(file, facts, parts(lines, fails), known)
        run._commit()
        assert sum(1 for _ in base.chunks()) == left
        assert run.report.chunks_added - run.report.chunks_removed == (0 if fails else lines)
        assert len(run.report.problems) == fails


def check_nearest(base: KnowledgeBase, model: Hashing, text: str) -> None:
    """Dense search is the order of the cosines of what the model says of the texts."""
    query = model._vector(text).astype(float)
    scores = {c.id: round(float(model._vector(c.indexed_text).astype(float) @ query), 5) for c in base.chunks()}
    answer = base.search(text, k=5, pipeline="dense")
    found = {hit.id: round(hit.score, 5) for hit in answer}
    best = sorted(scores.values(), reverse=True)[:5]
    lines = [hit.waterfall[0].value for hit in answer]
    assert [round(value, 4) for value in lines] == pytest.approx(best, abs=2e-4)
    assert all(scores[name] >= best[-1] - 1e-5 for name in found)


def test_another_model(tmp_path: Path, model: Hashing, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store refuses vectors of another model; it can be embedded anew; whoever had it open is told."""
    docs = write(tmp_path / "docs", range(3))
    with assay.open(tmp_path / "kb", embedder="hashing") as base:
        base.add(docs)
    other = Hashing(dim=24)
    known = {"hashing": other, "larger": other}
    monkeypatch.setattr(embed, "load", lambda spec: known[spec])
    with assay.open(tmp_path / "kb") as base:
        answer = base.search("gateway")
        assert answer.status.degraded, "a model that is not the store's own must not pass in silence"
        write(docs, [8])
        with pytest.raises(assay.errors.ModelError, match="were made with") as caught:
            base.add(docs)
        assert caught.value.cure
        with assay.open(tmp_path / "kb") as early:
            early.search("gateway", pipeline="bm25")
            assert base.embed_missing("larger") == 9
            assert base.store.settings["dim"] == 24
            assert not base.search("gateway").status.degraded
            assert base.add(docs).added == 1
            assert base.store.rows_without_vector() == []
            for call in (lambda: early.search("gateway"), lambda: early.add([{"id": "x", "text": "y"}])):
                with pytest.raises(StoreError, match="another model"):
                    call()
    with assay.open(tmp_path / "kb") as base:
        check_nearest(base, other, "gateway invoice")
        check_nearest(base, other, text_of(8, sections=1))


def test_a_model_later(tmp_path: Path, model: Hashing) -> None:
    """Words first, meaning once a model is there; old versions are read with the new vectors."""
    docs = write(tmp_path / "docs", range(3))
    with assay.open(tmp_path / "kb", embedder="none") as base:
        base.add(docs)
        base.optimize()
        write(docs, [0], revision=1)
        base.add(docs)
        assert base.search("gateway").status.degraded
        base.search(mark_of(0), snapshot="v1")
        assert base.embed_missing("hashing") == 9
        assert not base.search("gateway").status.degraded
        check_nearest(base, model, "gateway invoice")
        assert {hit.chunk.doc_id for hit in base.search(mark_of(0), snapshot="v1", pipeline="bm25")} == {
            "docs/00000.md"
        }
        answer = base.search(mark_of(0), snapshot="v1")
        assert answer.hits[0].chunk.doc_id == "docs/00000.md"


@pytest.mark.slow
def test_the_local_model(tmp_path: Path) -> None:
    """The whole way with the real model: meaning finds what words do not."""
    from assay.embed.installed_models import find_model

    if find_model("minilm") is None:
        pytest.skip("the model minilm is not installed: assay model install")
    with assay.open(tmp_path / "kb", embedder="minilm") as base:
        base.add(
            [
                {"id": "car", "text": "The automobile would not start because its battery was flat."},
                {"id": "bread", "text": "Knead the dough and let it rise before baking."},
                {"id": "law", "text": "The court rejected the appeal."},
            ]
        )
        for _ in range(2):
            assert base.search("my vehicle has no power")[0].chunk.doc_id == "car"
            assert base.search("how to make a loaf", pipeline="dense")[0].chunk.doc_id == "bread"
            assert base.store.rows_without_vector() == []
            base.optimize(force=True)
        assert base.add([{"id": "law", "text": "The court rejected the appeal."}]).unchanged == 1


def test_remove_takes_one_name(base: KnowledgeBase) -> None:
    base.add([{"id": "a", "text": "gateway"}, {"id": "b", "text": "gateway"}])
    with pytest.raises(StoreError, match="takes one name, not list"):
        base.remove(["a", "b"])  # type: ignore[arg-type]
    assert base.remove("a") == 1
