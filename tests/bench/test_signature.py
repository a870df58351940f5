"""Signatures of receipts: what was signed is verified, and nothing else is."""

import base64
import contextlib
import json
import stat
from hashlib import blake2b
from pathlib import Path

import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st

from assay.bench.receipt import compute_digest, read, write
from assay.bench.signature import (
    SignatureError,
    create_key,
    read_public_key,
    read_secret_key,
    sign,
    signature_file,
    verify,
)
from assay.cli.main import cli
from tests.bench.run_receipts import a_run


@pytest.fixture
def keys(tmp_path: Path):
    public, secret_file, public_file = create_key(tmp_path / "ada")
    return public, secret_file, public_file


@pytest.fixture
def receipt(tmp_path: Path) -> Path:
    path = tmp_path / "run.json"
    write(a_run(), path)
    return path


def test_a_signed_receipt_is_verified_with_the_file_and_with_the_text_of_the_key(keys, receipt: Path) -> None:
    public, secret_file, public_file = keys
    assert sign(receipt, read_secret_key(secret_file)) == signature_file(receipt)
    for given_key in (public_file, public.text):
        verify(receipt, read_public_key(given_key))
    assert stat.S_IMODE(secret_file.stat().st_mode) == 0o600


def test_the_format_is_that_of_minisign(keys, receipt: Path) -> None:
    """Computed from the description of the format, without our reader."""
    _, secret_file, public_file = keys
    sign(receipt, read_secret_key(secret_file))
    key_blob = base64.b64decode(public_file.read_text().split("\n")[1])
    comment, first, trusted, second = signature_file(receipt).read_text().strip().split("\n")
    blob = base64.b64decode(first)
    assert comment.startswith("untrusted comment: ")
    assert key_blob[:2] == b"Ed"
    assert blob[:2] == b"ED"
    assert key_blob[2:10] == blob[2:10]
    key = Ed25519PublicKey.from_public_bytes(key_blob[10:])
    key.verify(blob[10:], blake2b(receipt.read_bytes(), digest_size=64).digest())
    key.verify(base64.b64decode(second), blob[10:] + trusted.removeprefix("trusted comment: ").encode())
    secret = base64.b64decode(secret_file.read_text().split("\n")[1])
    assert len(secret) == 158
    assert secret[:6] == b"Ed\0\0B2"
    assert blake2b(b"Ed" + secret[54:126], digest_size=32).digest() == secret[126:]


def test_an_edited_receipt_with_a_new_digest_is_read_but_not_verified(keys, receipt: Path) -> None:
    public, secret_file, _ = keys
    sign(receipt, read_secret_key(secret_file))
    content = json.loads(receipt.read_text())
    metric = next(iter(content["canonical"]["scores"]))
    content["canonical"]["scores"][metric][0] = 1.0
    content["digest"] = compute_digest(content["canonical"])
    receipt.write_text(json.dumps(content))
    read(receipt)  # the digest fits: anybody can compute it
    with pytest.raises(SignatureError, match="is not what was signed") as caught:
        verify(receipt, public)
    assert "do not trust it" in caught.value.cure


def test_the_measured_half_is_signed_too(keys, receipt: Path) -> None:
    public, secret_file, _ = keys
    sign(receipt, read_secret_key(secret_file))
    receipt.write_text(receipt.read_text().replace('"measured": {', '"measured": {"note": "faster",', 1))
    with pytest.raises(SignatureError, match="is not what was signed"):
        verify(receipt, public)


def test_another_key(keys, receipt: Path, tmp_path: Path) -> None:
    public = keys[0]
    eve, eve_file, _ = create_key(tmp_path / "eve")
    sign(receipt, read_secret_key(eve_file))
    with pytest.raises(SignatureError, match=f"signed by another key, {eve.name}"):
        verify(receipt, public)
    lines = signature_file(receipt).read_text().split("\n")
    blob = bytearray(base64.b64decode(lines[1]))
    blob[2:10] = public.id  # eve claims to be ada
    signature_file(receipt).write_text("\n".join([lines[0], base64.b64encode(blob).decode(), *lines[2:]]))
    with pytest.raises(SignatureError, match="is not what was signed"):
        verify(receipt, public)


def test_the_signature_of_another_receipt(keys, receipt: Path, tmp_path: Path) -> None:
    public, secret_file, _ = keys
    other = tmp_path / "other.json"
    other.write_bytes(receipt.read_bytes() + b"\n")
    sign(other, read_secret_key(secret_file))
    signature_file(other).rename(signature_file(receipt))
    with pytest.raises(SignatureError, match="is not what was signed"):
        verify(receipt, public)


def test_a_changed_comment(keys, receipt: Path) -> None:
    public, secret_file, _ = keys
    sign(receipt, read_secret_key(secret_file))
    text = signature_file(receipt).read_text()
    signature_file(receipt).write_text(text.replace("file:run.json", "file:best.json"))
    with pytest.raises(SignatureError, match=r"comment .* is not what was signed"):
        verify(receipt, public)
    signature_file(receipt).write_text(text.replace("untrusted comment: signature of", "untrusted comment: by"))
    verify(receipt, public)  # untrusted, as its name says


def test_no_signature(keys, receipt: Path) -> None:
    with pytest.raises(SignatureError, match="has no signature"):
        verify(receipt, keys[0])


@given(st.data())
def test_every_truncated_or_changed_file_is_refused(tmp_path_factory, data) -> None:
    place = tmp_path_factory.mktemp("keys")
    _, secret_file, public_file = create_key(place / "ada")
    receipt = place / "run.json"
    receipt.write_text("{}")
    sign(receipt, read_secret_key(secret_file))
    path = data.draw(st.sampled_from([secret_file, public_file, signature_file(receipt)]))
    whole, secret = path.read_text(), read_secret_key(secret_file)
    start = whole.index("\n") + 1  # the first line is a comment that nobody trusts
    place_of_change = data.draw(st.integers(start, len(whole.rstrip()) - 1))
    if data.draw(st.booleans()):
        changed = whole[:place_of_change]
    else:
        other = data.draw(st.sampled_from("A9+/ \nÄ"))
        changed = whole[:place_of_change] + other + whole[place_of_change + 1 :]
    path.write_text(changed)
    if _is_same(changed, whole):
        return
    if path == secret_file and len(changed) == len(whole):
        with contextlib.suppress(SignatureError):
            assert read_secret_key(secret_file) == secret  # salt and costs mean nothing without a password
            return
    with pytest.raises(SignatureError) as caught:
        _use_all(secret_file, public_file, receipt)
    assert caught.value.cure


def _use_all(secret_file: Path, public_file: Path, receipt: Path) -> None:
    read_secret_key(secret_file)
    verify(receipt, read_public_key(public_file))


def _is_same(one: str, other: str) -> bool:
    """Do two files hold the same lines? White space at their ends means nothing."""
    return [line.strip() for line in one.strip().split("\n")] == [line.strip() for line in other.strip().split("\n")]


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"x" * 100_000, b"untrusted comment: x\n", b"a\nb\n"])
def test_files_that_are_no_keys(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "key"
    path.write_bytes(content)
    for reader in (read_secret_key, read_public_key):
        with pytest.raises(SignatureError) as caught:
            reader(path)
        assert caught.value.cure
    with pytest.raises(SignatureError, match="cannot be read"):
        read_public_key(tmp_path / "missing")


def test_a_key_is_never_overwritten(keys, tmp_path: Path) -> None:
    before = keys[1].read_bytes()
    with pytest.raises(SignatureError, match="is there already"):
        create_key(tmp_path / "ada")
    assert keys[1].read_bytes() == before


def test_the_command_line(receipt: Path, tmp_path: Path) -> None:
    def run(*arguments: object) -> tuple[int, str]:
        result = CliRunner().invoke(cli, [str(one) for one in arguments])
        return result.exit_code, result.output

    code, shown = run("receipt", "key", tmp_path / "ada")
    assert code == 0
    key = shown.strip().split("\n")[-1]
    secret = base64.b64decode((tmp_path / "ada.key").read_text().split("\n")[1])
    assert base64.b64encode(secret[62:94]).decode().rstrip("=") not in shown
    assert run("bench", "replay", receipt, "--require-signature", key)[0] == 2
    assert run("receipt", "verify", receipt, "--key", key)[0] == 1
    assert run("receipt", "sign", receipt, "--key", tmp_path / "ada.key")[0] == 0
    assert run("receipt", "verify", receipt, "--key", tmp_path / "ada.pub")[0] == 0
    code, shown = run("bench", "replay", tmp_path, "--require-signature", key)
    assert "has no signature" not in shown
    signature_file(receipt).unlink()
    code, shown = run("bench", "replay", tmp_path, "--require-signature", key)
    assert "not replayable" in shown
    assert "has no signature" in shown
    receipt.write_text(receipt.read_text().replace('"digest": "', '"digest": "0', 1))
    assert run("receipt", "sign", receipt, "--key", tmp_path / "ada.key")[0] == 2  # a broken receipt is not signed
