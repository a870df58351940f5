"""Finding files: one order, nothing left out in silence, nothing that hangs or loops."""

import inspect
import os
import sys
import unicodedata
from importlib.metadata import EntryPoint

import pytest

from assay.errors import BadFile
from assay.ingest import discovery, readers
from assay.ingest.discovery import FoundFile, SkippedFile, discover, hash_content, read_file
from assay.types import Document


def make(root, *names):
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text")


def found(root):
    return [item.name for item in discover(root) if isinstance(item, FoundFile)]


def skipped(root):
    return {item.name: item.reason for item in discover(root) if isinstance(item, SkippedFile)}


def test_names_begin_with_the_folder_and_come_in_order(tmp_path):
    root = tmp_path / "handbook"
    make(root, "b.md", "a.txt", "security/keys.md", "B.MD", "a/z.html", "a.b/c.md")
    assert found(root) == [
        f"handbook/{n}" for n in ("B.MD", "a/z.html", "a.b/c.md", "a.txt", "b.md", "security/keys.md")
    ]
    first = next(iter(discover(root)))
    assert (first.size, first.mtime_ns) == (4, (root / "B.MD").stat().st_mtime_ns)
    assert first.path.read_text() == "text"


def test_the_name_does_not_depend_on_how_the_folder_is_written(tmp_path, monkeypatch):
    make(tmp_path / "docs", "a.md")
    monkeypatch.chdir(tmp_path / "docs")
    for root in (".", "../docs", "./", tmp_path / "docs"):
        assert found(type(tmp_path)(root)) == ["docs/a.md"]
    assert found(type(tmp_path)("a.md")) == ["a.md"]


def test_hidden_things_and_tool_folders_are_passed_over(tmp_path):
    make(tmp_path / "d", ".git/a.md", ".hidden.md", "node_modules/x/README.md", "__pycache__/a.txt", "a.md")
    assert found(tmp_path / "d") == ["d/a.md"]
    assert skipped(tmp_path / "d") == {
        "d/.git": "hidden",
        "d/.hidden.md": "hidden",
        "d/__pycache__": "always passed over (__pycache__)",
        "d/node_modules": "always passed over (node_modules)",
    }


def test_what_nobody_reads_is_said(tmp_path):
    make(tmp_path / "d", "a.exe", "LICENSE", "a.md")
    assert skipped(tmp_path / "d") == {
        "d/LICENSE": "nothing here reads files without an ending",
        "d/a.exe": "nothing here reads files ending in .exe",
    }


def test_links_never_loop(tmp_path):
    root = tmp_path / "d"
    make(root, "a.md", "sub/b.md")
    (root / "sub" / "up").symlink_to(root)
    (root / "self.md").symlink_to(root / "self.md")
    (root / "gone.md").symlink_to(root / "nothing.md")
    (root / "to-a.md").symlink_to(root / "a.md")
    assert found(root) == ["d/a.md", "d/sub/b.md", "d/to-a.md"]
    assert set(skipped(root)) == {"d/sub/up", "d/self.md", "d/gone.md"}


def test_the_added_folder_itself_may_be_a_link(tmp_path):
    make(tmp_path / "d", "a.md")
    (tmp_path / "link").symlink_to(tmp_path / "d")
    (tmp_path / "other.txt").symlink_to(tmp_path / "d" / "a.md")
    assert found(tmp_path / "link") == ["link/a.md"]
    assert found(tmp_path / "other.txt") == ["other.txt"]


def test_folders_nested_deeper_than_python_may_call(tmp_path):
    make(tmp_path / "d", "x/" * 300 + "a.md")
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 150)
    try:
        names = found(tmp_path / "d")
    finally:
        sys.setrecursionlimit(limit)
    assert names == [f"d/{'x/' * 300}a.md"]


def test_a_pipe_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "pipe.md")
    assert skipped(tmp_path) == {f"{tmp_path.name}/pipe.md": "not a file but a pipe"}
    with pytest.raises(BadFile, match="not a regular file"):
        list(read_file(tmp_path / "pipe.md", "pipe.md"))


def test_a_folder_that_cannot_be_read_is_said_and_the_others_go_on(tmp_path, monkeypatch):
    make(tmp_path / "d", "closed/a.md", "open/b.md")
    listdir = os.listdir

    def guarded(path):  # the tests may run as root, whom no permission stops
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied")
        return listdir(path)

    monkeypatch.setattr(discovery.os, "listdir", guarded)
    assert found(tmp_path / "d") == ["d/open/b.md"]
    assert skipped(tmp_path / "d") == {"d/closed": "the folder cannot be read: Permission denied"}


def test_names_of_any_bytes(tmp_path):
    root = tmp_path / "d"
    root.mkdir()
    strange = os.fsdecode(b"caf\xe9 \xff.md")
    (root / strange).write_text("text")
    assert found(root) == ["d/caf%E9 %FF.md"]
    (item,) = discover(root)
    (document,) = read_file(item.path, item.name)
    assert document.title == "caf%E9 %FF"
    (root / strange).write_bytes(b"\0")
    with pytest.raises(BadFile) as raised:
        list(read_file(item.path, item.name))
    str(raised.value).encode()


def test_two_spellings_of_one_name(tmp_path):
    root = tmp_path / "d"
    make(root, unicodedata.normalize("NFC", "é.md"), unicodedata.normalize("NFD", "é.md"))
    assert found(root) == ["d/é.md"]
    assert "same name" in skipped(root)["d/é.md"]


def test_nothing_there(tmp_path):
    with pytest.raises(BadFile, match="No such file") as raised:
        list(discover(tmp_path / "nowhere"))
    assert raised.value.cure
    with pytest.raises(BadFile, match="null"):
        list(discover(tmp_path / "a\0b"))
    assert list(discover(tmp_path)) == []
    with pytest.raises(BadFile, match="No such file"):
        hash_content(tmp_path / "nowhere")
    with pytest.raises(BadFile, match="No such file"):
        list(read_file(tmp_path / "nowhere.md", "nowhere.md"))


def test_content_hash_is_of_the_bytes(tmp_path):
    one, two = tmp_path / "a", tmp_path / "b"
    one.write_bytes(b"x" * (3 << 20))
    two.write_bytes(b"x" * (3 << 20))
    assert hash_content(one) == hash_content(two)
    two.write_bytes(b"x" * (3 << 20) + b"y")
    assert hash_content(one) != hash_content(two)
    one.write_bytes(b"")
    assert hash_content(one) == "cae66941d9efbd404e4d88758ea67670"  # blake2b-128 of nothing


def test_an_unknown_ending_is_refused_with_the_known_ones(tmp_path):
    make(tmp_path, "a.exe")
    with pytest.raises(BadFile, match=r"'\.exe'") as raised:
        list(read_file(tmp_path / "a.exe", "a.exe"))
    assert ".md" in raised.value.cure


def test_whatever_a_reader_raises_is_a_bad_file(tmp_path, monkeypatch):
    def broken(path, name):
        yield Document("a", "", ())
        raise RuntimeError("parser gave up")

    make(tmp_path, "a.md")
    monkeypatch.setattr("assay.ingest.readers.markdown.read", broken)
    documents = read_file(tmp_path / "a.md", "a.md")
    next(documents)
    with pytest.raises(BadFile, match="RuntimeError: parser gave up") as raised:
        next(documents)
    assert "a.md" in raised.value.message


def plugged(path, name):
    yield Document(name, path.read_text(), ())


def test_readers_of_other_packages(tmp_path, monkeypatch):
    points = [EntryPoint(".ORG", f"{__name__}:plugged", "assay.readers"), EntryPoint(".md", "x:y", "assay.readers")]
    monkeypatch.setattr(readers, "entry_points", lambda group: points if group == "assay.readers" else [])
    readers._plugin_readers.cache_clear()
    try:
        make(tmp_path / "d", "a.org", "b.md")
        assert found(tmp_path / "d") == ["d/a.org", "d/b.md"]
        assert [d.title for d in read_file(tmp_path / "d" / "a.org", "d/a.org")] == ["text"]
        assert [d.title for d in read_file(tmp_path / "d" / "b.md", "d/b.md")] == ["b"]  # ours cannot be replaced
    finally:
        readers._plugin_readers.cache_clear()


def test_every_reader_in_the_table_exists():
    for suffix in readers.READERS:
        assert callable(readers.load_reader(suffix))
        assert readers.has_reader(suffix.upper())
