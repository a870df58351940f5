"""Same-length damage of an index: the record answers, the answer tells, the doctor names the bytes."""

import json
from pathlib import Path

import pytest

from assay import kb
from assay.backend.local import recovery
from assay.index.checksums import BLOCK, DamagedIndex, write_checksums
from assay.upkeep.doctor import examine
from assay.util.file_checksum import CRC32
from tests.backend.scoped_store import make_scoped_store


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_scoped_store(tmp_path / "kb")


def flip(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def generation(folder: Path) -> Path:
    (found,) = [path for path in (folder / "generations").iterdir() if not path.name.startswith(".")]
    return found


def scope_values(folder: Path) -> Path:
    number = json.loads((generation(folder) / "fields.json").read_text())["scope"]["text"]
    return generation(folder) / f"{number}.values"


def texts(base, scope):
    return sorted(chunk.text for chunk in base.chunks(f'scope = "{scope}"'))


def test_a_flipped_bit_in_the_scope_column_shows_no_memory_of_another(folder: Path) -> None:
    with kb.open(folder) as base:
        before = texts(base, "user:a")
    flip(scope_values(folder), 0)
    with kb.open(folder) as base:
        assert texts(base, "user:a") == before
    with kb.open(folder) as base:  # rebuilt for good
        answer = base.search("heron", pipeline="bm25", where='scope = "user:a"')
        assert answer.status.problems == ()


@pytest.mark.parametrize("name", ["postings.rows", "postings.counts", "lengths", "terms.blob", "ids.blob"])
def test_a_damaged_file_costs_no_answer_and_is_told(folder: Path, name: str) -> None:
    with kb.open(folder) as base:
        before = [(hit.id, hit.score) for hit in base.search("heron number7", k=5, pipeline="bm25")]
    flip(generation(folder) / name, 3)
    with kb.open(folder) as base:
        answer = base.search("heron number7", k=5, pipeline="bm25")
        assert [(hit.id, hit.score) for hit in answer] == before
        (problem,) = answer.status.problems
        assert name in str(problem.reason)
        assert "rebuilt from the record" in str(problem.reason)


def test_a_large_index_is_replaced_while_it_is_rebuilt(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with kb.open(folder) as base:
        before = [(hit.id, hit.score) for hit in base.search("heron number7", k=5, pipeline="bm25")]
    flip(generation(folder) / "postings.rows", 3)
    monkeypatch.setattr(recovery, "MOST_TAIL", 10)
    with kb.open(folder) as base:
        answer = base.search("heron number7", k=5, pipeline="bm25")
        assert [(hit.id, hit.score) for hit in answer] == before
        (problem,) = answer.status.problems
        assert "from the record, exact and slower" in str(problem.reason)
        base.backend._damaged._rebuilding.join()
        again = base.search("heron number7", k=5, pipeline="bm25")
        assert [(hit.id, hit.score) for hit in again] == before
        assert again.status.problems == ()


@pytest.mark.parametrize("name", ["postings.rows", "lengths", "terms.blob", "ids.offsets", "fields.json", "checksums"])
def test_the_doctor_names_the_file_and_the_bytes(folder: Path, name: str) -> None:
    values = generation(folder) / name
    flip(values, 5)
    checks = examine(folder, deep=True)
    (found,) = [check for check in checks if check.name == "index files"]
    end = min(BLOCK, values.stat().st_size)
    assert found.state == "fail"
    assert f"{name}, bytes 0 to {end:,}" in found.text
    assert found.cure == "assay optimize --force"
    assert [check.state for check in checks if check.name == "database"] == ["ok"], "the record is sound"


def test_an_index_of_an_older_release_is_read_and_made_anew(folder: Path) -> None:
    path = generation(folder) / "manifest.json"
    manifest = json.loads(path.read_text())
    del manifest["xxh3"], manifest["own_xxh3"]
    path.write_text(json.dumps(manifest))
    (found,) = [check for check in examine(folder, deep=True) if check.name == "index files"]
    assert (found.state, found.cure) == ("warn", "assay optimize --force")
    with kb.open(folder) as base:
        assert len(base.search("heron", k=5, pipeline="bm25")) == 5
        assert base.optimize(), "an index without checksums is behind"
    (found,) = [check for check in examine(folder, deep=True) if check.name == "index files"]
    assert found.state == "ok"


@pytest.fixture
def earlier_folder(folder: Path) -> Path:
    """A store whose index has CRC-32, as releases before XXH3 wrote it."""
    path = generation(folder)
    manifest = json.loads((path / "manifest.json").read_text())
    del manifest["xxh3"], manifest["own_xxh3"]
    (path / "manifest.json").unlink()
    (path / "checksums").unlink()
    write_checksums(path, manifest, CRC32)
    (path / "manifest.json").write_text(json.dumps(manifest, indent=1, sort_keys=True))
    return folder


def test_an_index_with_crc_32_is_verified_by_it(earlier_folder: Path) -> None:
    manifest = json.loads((generation(earlier_folder) / "manifest.json").read_text())
    assert {"crc32", "own_crc32"} <= manifest.keys()
    (found,) = [check for check in examine(earlier_folder, deep=True) if check.name == "index files"]
    assert found.state == "ok"
    with kb.open(earlier_folder) as base:
        before = [(hit.id, hit.score) for hit in base.search("heron number7", k=5, pipeline="bm25")]
        assert base.search("heron", pipeline="bm25").status.problems == ()
        assert not base.optimize(), "an index with other checksums is not behind"
    for name in ("postings.rows", "lengths"):
        flip(generation(earlier_folder) / name, 3)
    (found,) = [check for check in examine(earlier_folder, deep=True) if check.name == "index files"]
    assert "postings.rows, bytes 0 to" in found.text
    assert "lengths, bytes 0 to" in found.text
    with kb.open(earlier_folder) as base:
        answer = base.search("heron number7", k=5, pipeline="bm25")
        assert [(hit.id, hit.score) for hit in answer] == before
        assert answer.status.problems != ()


@pytest.mark.parametrize("damaged", ["xxh3", "own_xxh3", "version"])
def test_a_flipped_bit_in_a_key_of_the_manifest_is_damage(folder: Path, damaged: str) -> None:
    path = generation(folder) / "manifest.json"
    other = damaged[:-1] + chr(ord(damaged[-1]) ^ 1)
    path.write_text(path.read_text().replace(f'"{damaged}"', f'"{other}"'))
    (found,) = [check for check in examine(folder, deep=True) if check.name == "index files"]
    assert found.state == "fail"


def test_an_error_of_sound_files_is_raised(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug must not hide behind a rebuilt index."""
    with kb.open(folder) as base:
        view = base.snapshot()
        monkeypatch.setattr(type(view._view.words), "postings", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            base.search("heron", pipeline="bm25")


def test_a_damaged_index_is_a_store_error_with_a_cure() -> None:
    error = DamagedIndex("the index is damaged: x")
    assert isinstance(error, ValueError)
    assert "optimize --force" in error.cure
