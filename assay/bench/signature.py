"""Signs receipts and verifies signatures, in the format of minisign: a signature is the file `RECEIPT.minisig`.

A receipt's digest shows that it was not damaged; whoever edits it can compute the digest anew. A signature shows who
vouches for it. Keys and signatures are those of minisign (Ed25519 over the BLAKE2b-512 digest of the file's bytes), so
`minisign -Vm RECEIPT -p KEY.pub` verifies them too. A secret key is not encrypted, as with `minisign -W`: its file is
readable by its owner only.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import os
import secrets
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from assay.errors import AssayError, MissingExtra
from assay.util.atomic_files import write_text

SUFFIX = ".minisig"
_KEY, _PREHASHED, _CHECKSUM, _NO_KDF = b"Ed", b"ED", b"B2", b"\0\0"
_SALT_AND_COSTS = bytes(48)  # without a password there is nothing to derive
_ID, _PUBLIC, _SECRET, _SIGNATURE = 8, 32, 64, 64
_MOST_BYTES = 16 << 10


class SignatureError(AssayError):
    """A signature is missing, does not fit, or a key cannot be read."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A key that verifies. `text` is what minisign takes after -P."""

    id: bytes
    key: bytes

    @property
    def text(self) -> str:
        return base64.b64encode(_KEY + self.id + self.key).decode("ascii")

    @property
    def name(self) -> str:
        """The key's id as minisign shows it."""
        return self.id[::-1].hex().upper()


@dataclass(frozen=True, slots=True, repr=False)
class SecretKey:
    """A key that signs: the seed of an Ed25519 key, and the public half."""

    seed: bytes
    public: PublicKey


def create_key(path: Path) -> tuple[PublicKey, Path, Path]:
    """Write a new pair of keys, `path`.key for its owner alone and `path`.pub for everyone; never over an old one."""
    ed25519 = _ed25519()
    private = ed25519.Ed25519PrivateKey.generate()
    seed, key = private.private_bytes_raw(), private.public_key().public_bytes_raw()
    public = PublicKey(secrets.token_bytes(_ID), key)
    pair = public.id + seed + key
    checksum = blake2b(_KEY + pair, digest_size=32).digest()
    blob = _KEY + _NO_KDF + _CHECKSUM + _SALT_AND_COSTS + pair + checksum
    secret_file, public_file = path.with_name(f"{path.name}.key"), path.with_name(f"{path.name}.pub")
    for file in (secret_file, public_file):
        if file.exists():
            raise SignatureError(f"{file} is there already", "give another name; a lost key cannot be made again")
    text = f"untrusted comment: secret key of {public.name}\n{base64.b64encode(blob).decode('ascii')}\n"
    with os.fdopen(os.open(secret_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as handle:
        handle.write(text)
    write_text(public_file, f"untrusted comment: public key {public.name}\n{public.text}\n")
    return public, secret_file, public_file


def read_secret_key(path: Path) -> SecretKey:
    """Read a secret key without a password; SignatureError when it is cut short, damaged or encrypted."""
    blob = _decode(_second_line(path, "a secret key"), f"{path} is no secret key")
    size = 6 + len(_SALT_AND_COSTS) + _ID + _SECRET + 32
    if len(blob) != size or blob[:2] != _KEY or blob[4:6] != _CHECKSUM:
        raise SignatureError(f"{path} is no secret key, or is cut short", "make one: assay receipt key NAME")
    if blob[2:4] != _NO_KDF:
        raise SignatureError(f"{path} is encrypted with a password", "take the password off: minisign -C -W -s FILE")
    pair, checksum = blob[6 + len(_SALT_AND_COSTS) : -32], blob[-32:]
    seed, key = pair[_ID : _ID + 32], pair[_ID + 32 :]
    own = _ed25519().Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
    intact = hmac.compare_digest(blake2b(_KEY + pair, digest_size=32).digest(), checksum)
    if not intact or own != key:
        raise SignatureError(f"{path} is damaged", "take it from a backup; a lost key cannot be made again")
    return SecretKey(seed, PublicKey(pair[:_ID], key))


def read_public_key(given: str | Path) -> PublicKey:
    """Read a public key: a file, or the text that stands in one."""
    text = str(given)
    is_text = len(text) == 56 and "/" not in text[:1] and not Path(text).exists()
    blob = _decode(text if is_text else _second_line(Path(given), "a public key"), f"{given} is no public key")
    if len(blob) != 2 + _ID + _PUBLIC or blob[:2] != _KEY:
        raise SignatureError(f"{given} is no public key, or is cut short", "give the .pub file of whoever signed")
    return PublicKey(blob[2 : 2 + _ID], blob[2 + _ID :])


def sign(path: Path, key: SecretKey) -> Path:
    """Write the signature of a file beside it."""
    private = _ed25519().Ed25519PrivateKey.from_private_bytes(key.seed)
    signature = private.sign(blake2b(path.read_bytes()).digest())
    comment = f"file:{path.name}"
    bound = private.sign(signature + comment.encode("utf-8"))
    whole = base64.b64encode(_PREHASHED + key.public.id + signature).decode("ascii")
    target = signature_file(path)
    write_text(
        target,
        f"untrusted comment: signature of {key.public.name}\n{whole}\n"
        f"trusted comment: {comment}\n{base64.b64encode(bound).decode('ascii')}\n",
    )
    return target


def verify(path: Path, key: PublicKey) -> None:
    """SignatureError unless the file beside `path` holds this key's signature of its bytes."""
    target = signature_file(path)
    if not target.is_file():
        raise SignatureError(f"{path} has no signature ({target.name})", "get it from whoever signed the receipt")
    lines = _read(target, "a signature").split("\n")
    if len(lines) < 4 or not lines[2].startswith("trusted comment: "):
        raise SignatureError(f"{target} is no signature, or is cut short", "get it anew")
    blob = _decode(lines[1], f"{target} is no signature")
    bound = _decode(lines[3], f"{target} is no signature")
    if len(blob) != 2 + _ID + _SIGNATURE or len(bound) != _SIGNATURE or blob[:2] != _PREHASHED:
        raise SignatureError(f"{target} is no signature, or is cut short", "get it anew")
    if blob[2 : 2 + _ID] != key.id:
        other = PublicKey(blob[2 : 2 + _ID], b"").name
        raise SignatureError(f"{path} is signed by another key, {other}", f"the given key is {key.name}")
    signature = blob[2 + _ID :]
    comment = lines[2].removeprefix("trusted comment: ").encode("utf-8")
    _check(key, signature, blake2b(path.read_bytes()).digest(), f"{path} is not what was signed")
    _check(key, bound, signature + comment, f"the comment in {target} is not what was signed")


def signature_file(path: Path) -> Path:
    return path.with_name(path.name + SUFFIX)


def _check(key: PublicKey, signature: bytes, message: bytes, failure: str) -> None:
    from cryptography.exceptions import InvalidSignature

    try:
        _ed25519().Ed25519PublicKey.from_public_bytes(key.key).verify(signature, message)
    except InvalidSignature as error:
        raise SignatureError(failure, "do not trust it; get it again from whoever signed it") from error


def _second_line(path: Path, what: str) -> str:
    lines = _read(path, what).split("\n")
    if len(lines) < 2 or not lines[0].startswith("untrusted comment:"):
        raise SignatureError(f"{path} is not {what}", "a key file has a comment, then the key")
    return lines[1]


def _read(path: Path, what: str) -> str:
    try:
        with path.open("rb") as file:
            raw = file.read(_MOST_BYTES + 1)
        if len(raw) <= _MOST_BYTES:
            return raw.decode("utf-8")
    except OSError as error:
        raise SignatureError(f"{path} cannot be read: {error.strerror}", f"give the file of {what}") from error
    except UnicodeDecodeError:
        pass
    raise SignatureError(f"{path} is not {what}", f"give the file of {what}")


def _decode(text: str, failure: str) -> bytes:
    try:
        raw = base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if base64.b64encode(raw).decode("ascii") != text.strip():  # one text for one key: no unused bits that differ
        raise SignatureError(f"{failure}, or is cut short", "get it anew")
    return raw


def _ed25519() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as error:
        raise MissingExtra("signing and verifying receipts", "sign") from error
    return ed25519
