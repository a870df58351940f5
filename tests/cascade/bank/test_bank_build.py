"""From ordered documents to a bank: order, halves, twins."""

import json
import zlib
from pathlib import Path

import numpy as np
import pytest

from assay.cascade.bank.build import Split, build_bank
from assay.cascade.bank.documents import read_ordered_documents
from assay.cascade.bank.errors import EmptyColumn
from assay.errors import BadFile, ConfigError
from assay.score.tmd_layout import LAYOUTS
from tests.cascade.bank.sample_bank import unit

SPEC = LAYOUTS["spec"]


class Hashes:
    """An embedder for tests: a unit vector drawn from the text."""

    name, digest, dim, max_tokens = "hashes", "hashes", 8, 256

    def encode(self, texts):
        return np.concatenate([unit(1, 8, seed=zlib.crc32(text.encode())) for text in texts])

    def encode_query(self, text):
        return self.encode([text])[0]


def none(vectors):
    return np.zeros(len(vectors), np.uint16)


def made(tmp_path, documents, **split):
    return build_bank(tmp_path / "out", documents, Hashes(), none, SPEC, Split(**split))


DOCUMENTS = [(f"d{d}", [f"document {d}, paragraph {p}" for p in range(5)]) for d in range(12)]


def test_order_halves_and_context(tmp_path):
    built = made(tmp_path, DOCUMENTS, context=2, val_share=0.3)
    pairs = {"train": built.sequences.train, "val": built.sequences.val}
    assert sum(map(len, pairs.values())) == 12 * 4
    document = np.arange(60) // 5
    for half in pairs.values():
        assert (half.following == half.current + 1).all()
        assert (document[half.current] == document[half.following]).all()
        for current, context in zip(half.current.tolist(), half.context.tolist(), strict=True):
            place = current % 5
            assert context == [-1] * max(0, 2 - place) + list(range(current - min(2, place), current))
    assert not set(document[pairs["train"].current]) & set(document[pairs["val"].current])


def test_a_document_stays_in_its_half_when_others_come(tmp_path):
    split = Split(val_share=0.3)
    before = {name: split.is_val(name) for name, _ in DOCUMENTS}
    assert {name: split.is_val(name) for name, _ in DOCUMENTS[3:]} == dict(list(before.items())[3:])
    assert 0 < sum(before.values()) < 12


def test_so_many_are_held_out_and_always_the_same():
    """Halves that move would make every number measured before one of other questions."""
    assert [n for n in range(40) if Split().is_val(f"d{n}")] == [4, 11, 24, 30, 31]
    assert [n for n in range(40) if Split(seed=2).is_val(f"d{n}")] != [4, 11, 24, 30, 31]
    for share in (0.0, 0.15, 0.6, 1.0):
        held = sum(Split(val_share=share).is_val(f"d{n}") for n in range(4_000))
        assert held / 4_000 == pytest.approx(share, abs=0.02)


def test_twins_are_dropped_and_break_the_sequence(tmp_path):
    documents = [("a", ["one", "same", "two"]), ("b", ["three", "same", "four", "five"]), ("c", ["six", "seven"])]
    split = Split(context=2, val_share=0.5, seed=3)
    assert {split.is_val(name) for name, _ in documents} == {True, False}
    built = made(tmp_path, documents, context=2, val_share=0.5, seed=3)
    assert built.manifest["dropped_twins"] == 1
    assert len(built.bank) == 8
    # ids: one 0, same 1, two 2; three 3, (twin), four 4, five 5; six 6, seven 7
    both = [built.sequences.train, built.sequences.val]
    steps = sorted((c, n) for half in both for c, n in zip(half.current.tolist(), half.following.tolist(), strict=True))
    assert steps == [(0, 1), (1, 2), (4, 5), (6, 7)]
    lines = (tmp_path / "out" / "chunks.tsv").read_text().splitlines()
    assert lines[0] == "id\tdocument\tplace"
    assert lines[5] == "4\tb\t2"


def test_nothing_to_build_from(tmp_path):
    with pytest.raises(EmptyColumn):
        made(tmp_path, [("a", [])])


@pytest.mark.parametrize(("share", "what"), [(0.0, "hold out"), (1.0, "learn from")])
def test_a_half_without_a_document_is_said_before_anything_is_embedded(tmp_path, share, what):
    class Never(Hashes):
        def encode(self, texts):
            raise AssertionError("nothing should be embedded")

    with pytest.raises(EmptyColumn, match=f"none is left to {what}") as raised:
        build_bank(tmp_path / "out", DOCUMENTS, Never(), none, SPEC, Split(val_share=share))
    assert "seed" in raised.value.cure
    assert not (tmp_path / "out" / "bank.npz").exists()


def test_documents_of_one_chunk_have_nothing_that_follows(tmp_path):
    with pytest.raises(EmptyColumn, match="of 9 documents, 0 with two chunks or more"):
        made(tmp_path, [(f"d{d}", [f"only {d}"]) for d in range(9)], val_share=0.5)


def test_a_name_with_tabs_and_line_ends_stays_in_its_line(tmp_path):
    made(tmp_path, [(f"a\tb\nc\\{d}", chunks) for d, (_, chunks) in enumerate(DOCUMENTS)], val_share=0.3)
    lines = (tmp_path / "out" / "chunks.tsv").read_text().splitlines()
    assert len(lines) == 61
    assert lines[1] == "0\ta\\tb\\nc\\\\0\t0"


def test_records_of_one_article_are_one_document(tmp_path):
    records = [
        {"_id": f"{a}/{p}", "text": f"Paragraph {p} of article {a}. " * 8, "metadata": {"article": a}}
        for a in ("A", "B", "C")
        for p in range(3)
    ]
    path = tmp_path / "corpus.jsonl"
    path.write_text("\n".join(map(json.dumps, records)))
    found = list(read_ordered_documents([path], by="article"))
    assert [len(chunks) for _, chunks in found] == [3, 3, 3]
    assert found[1][1][2].startswith("Paragraph 2 of article B")
    assert len(list(read_ordered_documents([path]))) == 9
    some = [name.rpartition("#")[2] for name, _ in read_ordered_documents([path], most=4)]
    assert some == ["A/0", "A/2", "B/2", "C/2"]  # of nine, spread over all: 0, 2, 5, 8
    with pytest.raises(ConfigError, match="no record"):
        list(read_ordered_documents([path], by="chapter"))
    with pytest.raises(ConfigError, match="there is no"):
        list(read_ordered_documents([tmp_path / "absent"]))


def test_files_of_a_folder_keep_their_order(tmp_path):
    for name in ("b.md", "a.md"):
        (tmp_path / name).write_text(f"# {name}\n\n" + "Some words about it. " * 30)
    names = [name for name, _ in read_ordered_documents([tmp_path])]
    assert [name.rpartition("/")[2] for name in names] == ["a.md", "b.md"]


def test_what_a_folder_holds_beside_text_is_told(tmp_path):
    (tmp_path / "a.md").write_text("# A\n\nSome words about it.\n")
    (tmp_path / "b.xyz").write_text("?")
    (tmp_path / "c.md").symlink_to("nowhere")
    messages = []
    assert len(list(read_ordered_documents([tmp_path], on_skip=messages.append))) == 1
    assert [(one.name.rpartition("/")[2], one.unreadable) for one in messages] == [("b.xyz", False), ("c.md", True)]


def test_a_file_that_cannot_be_read_ends_it(tmp_path):
    (tmp_path / "a.md").write_text("# A\n\nSome words about it.\n")
    (tmp_path / "b.jsonl").write_text('{"no": "text"}\n')
    with pytest.raises(BadFile, match="line 1"):
        list(read_ordered_documents([tmp_path]))


def test_parts_of_one_long_file_are_one_document(tmp_path, monkeypatch):
    monkeypatch.setattr("assay.ingest.outline.PART", 2_000)
    (tmp_path / "book.md").write_text("".join(f"# Chapter {n}\n\n{'Some words about it. ' * 60}\n\n" for n in range(6)))
    ((name, chunks),) = read_ordered_documents([tmp_path / "book.md"])
    assert name.endswith("/book.md")
    assert len(chunks) > 6
    assert [n for n in range(6) if any(f"Chapter {n}" in chunk for chunk in chunks)] == list(range(6))


def test_names_do_not_depend_on_how_the_path_is_spelled(tmp_path, monkeypatch):
    """Names decide the halves."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# A\n\nSome words about it.\n")
    monkeypatch.chdir(tmp_path / "docs")
    names = {
        next(iter(read_ordered_documents([Path(path)])))[0]
        for path in ("a.md", "./a.md", "../docs/a.md", tmp_path / "docs" / "a.md")
    }
    assert names == {"docs/a.md"}
