"""Files made to exhaust their readers: each is small, and honest files lie between them."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path

_CONTENT_TYPES = (
    '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Override PartName="/word/document.xml" ContentType='
    '"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
)
_RELATIONS = (
    '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="r" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
    'Target="word/document.xml"/></Relationships>'
)
_DOCUMENT = '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>'


def pdf_of(stream: bytes, filters: str = "") -> bytes:
    """A PDF of one page with this content stream."""
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources<</Font<</F<</Type/Font/Subtype/Type1"
        b"/BaseFont/Helvetica>>>>>>>>",
        f"<</Length {len(stream)}{filters}>>stream\n".encode() + stream + b"\nendstream",
    ]
    body = b"".join(b"%d 0 obj\n%s\nendobj\n" % (number, one) for number, one in enumerate(objects, 1))
    return b"%PDF-1.4\n" + body + b"trailer<</Root 1 0 R>>"


def pdf_bomb(megabytes: int) -> bytes:
    """A content stream that grows a thousand times."""
    packer = zlib.compressobj(9)
    block = b"BT /F 9 Tf (a) Tj ET " * 50_000
    parts = [packer.compress(block) for _ in range(max(1, (megabytes << 20) // len(block)))]
    return pdf_of(b"".join(parts) + packer.flush(), "/Filter/FlateDecode")


def docx_of(document: str) -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("[Content_Types].xml", _CONTENT_TYPES)
        package.writestr("_rels/.rels", _RELATIONS)
        package.writestr("word/document.xml", document)
    return buffer.getvalue()


def _paragraphs(count: int) -> str:
    return _DOCUMENT + "<w:p><w:r><w:t>a</w:t></w:r></w:p>" * count + "</w:body></w:document>"


FILES: dict[str, Callable[[], bytes]] = {
    "bomb.pdf": lambda: pdf_bomb(200),
    "arrays.pdf": lambda: pdf_of(b"[" * 300_000),
    "dictionaries.pdf": lambda: b"%PDF-1.4\n1 0 obj\n" + b"<</A" * 200_000,
    "bomb.docx": lambda: docx_of(_paragraphs(1_500_000)),
    "nested.docx": lambda: docx_of(_DOCUMENT + "<w:sdt>" * 200_000),
    "laughs.docx": lambda: docx_of(
        '<!DOCTYPE d [<!ENTITY a "ha">'
        + "".join(f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(9))
        + f"]>{_DOCUMENT}<w:p><w:r><w:t>&j;</w:t></w:r></w:p></w:body></w:document>"
    ),
    "names.csv": lambda: b"column " * 20_000 + b",x\n" + b"1,2\n" * 20_000,
    "header.csv": lambda: b"a," * 100_000 + b"\n" + b"1," * 100_000,
    "attributes.html": lambda: b"<p " + b"".join(b"a%d=1 " % i for i in range(100_000)) + b">x",
    "formats.html": lambda: b"".join(b"<p><b a%d></p>" % i for i in range(900)) + b"<p>x" * 50_000,
    "nested.html": lambda: b"<div>" * 500_000,
    "nested.eml": lambda: b"".join(
        b'Content-Type: multipart/mixed; boundary="b%d"\n\n--b%d\n' % (i, i) for i in range(20_000)
    ),
}
"""Name → content. Each costs its reader more than it may, or more than a parser's stack."""


def write_hostile_folder(root: Path) -> Iterator[str]:
    """Write all of them with honest files between, and links and special files; yield the names of the hostile."""
    root.mkdir()
    (root / "a.md").write_text("# First\n\nAn honest page about signing keys.\n")
    (root / "m.csv").write_text("title,text\nRotation,Rotate the signing key every month.\n")
    (root / "z.html").write_text("<html><body><h1>Last</h1><p>Another honest page.</body></html>")
    (root.parent / "secret.txt").write_text("outside of the folder")
    for name, make in FILES.items():
        (root / name).write_bytes(make())
        yield name
    (root / "device.txt").symlink_to("/dev/zero")
    (root / "outside.txt").symlink_to(root.parent / "secret.txt")
    (root / "self.txt").symlink_to(root / "self.txt")
    (root / "there.txt").symlink_to(root / "back.txt")
    (root / "back.txt").symlink_to(root / "there.txt")
    (root / "folder").symlink_to(root)
    os.mkfifo(root / "pipe.txt")
