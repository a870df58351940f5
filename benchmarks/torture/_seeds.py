"""Well-formed input of every parser, from which hostile input is made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from assay.cascade.bank.bank import write_bank
from assay.config import load as config

_ROOT = Path(__file__).parents[2]


def _pdf() -> bytes:
    content = b"BT /F 9 Tf (a page about keys) Tj ET"
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources<</Font<</F<</Type/Font/Subtype/Type1"
        b"/BaseFont/Helvetica>>>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(content), content),
    ]
    body = b"".join(b"%d 0 obj\n%s\nendobj\n" % (number, one) for number, one in enumerate(objects, 1))
    return b"%PDF-1.4\n" + body + b"trailer<</Root 1 0 R>>"


def _docx() -> bytes:
    from io import BytesIO

    import docx

    document = docx.Document()
    document.add_heading("Keys", 1)
    document.add_paragraph("Rotate the signing key every month.")
    document.add_table(2, 2)
    buffer = BytesIO()
    document.save(buffer)
    return buffer.getvalue()


FILES: dict[str, Callable[[], bytes]] = {
    ".md": lambda: (
        b"---\ntitle: Keys\ntags: [a, b]\n---\n# Keys\n\nText with `code` and [a link](x).\n\n| a | b |\n|--|--|\n"
    ),
    ".rst": lambda: b"Keys\n====\n\n.. note:: text\n\n- item\n\n::\n\n  code\n",
    ".txt": lambda: b"A plain text.\n\nWith two paragraphs.\n",
    ".html": lambda: (
        b"<html><head><title>K</title><meta name=date content=2025-01-01></head><body><h1>Keys</h1>"
        b"<p>Text <b>bold</b><table><tr><td>1<td>2</table><ul><li>x</ul><select><option>y</select></body></html>"
    ),
    ".csv": lambda: b'id,title,text\n1,Keys,"Rotate, monthly"\n2,More,x\n',
    ".tsv": lambda: b'id\ttitle\n1\t"Keys\n',
    ".jsonl": lambda: b'{"id": "a", "text": "keys", "metadata": {"n": 1}}\n{"text": "more"}\n',
    ".eml": lambda: (
        b"Subject: =?utf-8?q?Keys?=\nFrom: a@b\nTo: c@d, e@f\nDate: Mon, 1 Jan 2025 00:00:00 +0000\n"
        b'Content-Type: multipart/alternative; boundary="x"\n\n'
        b"--x\n\nplain\n--x\nContent-Type: text/html\n\n<p>page\n--x--\n"
    ),
    ".mbox": lambda: (
        b"From a@b Mon Jan  1 00:00:00 2025\nSubject: one\n\ntext\n\nFrom c@d Mon\nSubject: two\n\n>From x\n"
    ),
    ".pdf": _pdf,
    ".docx": _docx,
}
FILTERS = (
    b'lang = "en" and created >= 2025-01-01 and not (kind in ("draft", "note"))',
    b"`First Name` ~ 'ada' or n != -1.5e2 or t is not missing",
    b"((a = 1 or b = true) and (c < 2025-06-01T12:00:00.5+02:00))",
)
MESSAGES: tuple[dict[str, Any], ...] = (
    {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "memory_store", "arguments": {"text": "x"}}},
    {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {"name": "memory_recall", "arguments": {"query": "x"}},
    },
    {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "memory_list", "arguments": {"limit": 3}}},
    {"jsonrpc": "2.0", "id": 4, "method": "tools/list"},
    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
)
HYBRID = {"query_vec": [1.0, *[0.0] * 7], "k0": 5, "k1": 3, "k": 2, "context_ids": [1], "faiss": {"nprobe": 1}}
"""A request of the vector cascade."""
RECORDING = {
    "schema": 2,
    "query": {"text": "x", "vector": None, "at": None, "where": "a = 1", "scope": None, "extra": {}, "id": ""},
    "k": 3,
    "snapshot": {"version": 1, "digest": "d"},
    "pipeline": {"legs": {"bm25": {}}},
    "texts": False,
    "steps": [{"name": "bm25", "outcome": "ran", "ms": 1.0}],
    "answer": "d",
}


def read_presets() -> list[bytes]:
    return [config.read_toml(name).encode() for name in config.preset_names()]


def read_receipt_seed() -> bytes:
    return min((_ROOT / "receipts" / "lab").glob("*.json"), key=lambda path: path.stat().st_size).read_bytes()


def make_bank(folder: Path) -> Path:
    """A small bank of vectors."""
    vectors = np.eye(8, dtype=np.float32)
    path = folder / "bank.npz"
    write_bank(path, vectors, np.arange(8, dtype=np.int64), np.arange(8, dtype=np.uint16), np.zeros(8, dtype=np.int16))
    return path
