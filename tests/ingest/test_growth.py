"""Time grows with the size of a file, whatever is in it: each case took quadratic time in a parser once, or might."""

import contextlib
from pathlib import Path

import pytest
from labels import grows_linearly

from assay.errors import AssayError
from assay.ingest.discovery import read_file

ATTRIBUTES = " ".join(f"a{number}=1" for number in range(400_000))
COLUMNS = ",".join(f"c{number}" for number in range(400_000))
TABLES = {
    "columns": lambda n: f"{COLUMNS[:n]}\n{'1,' * (n // 5)}\n",
    "the same column": lambda n: "a," * (n // 2),
    "columns named like the numbered": lambda n: ",".join(f"a_{i}" for i in range(n // 10)) + ",a" * (n // 10),
    "quotes": lambda n: '"' * n,
    "one open quote": lambda n: '"a",' * (n // 4) + '"',
    "rows": lambda n: "a,b\n" + "1,2\n" * (n // 4),
}
PAGES = {
    "attributes": lambda n: f"<p {ATTRIBUTES[:n]}>x",
    "attributes of body": lambda n: "".join(f"<body a{i}=1>" for i in range(n // 15)) + "x",
    "attributes below the limit": lambda n: f"<p {ATTRIBUTES[:6_000]}>x" * (n // 6_000 or 1),
    "a quote without end": lambda n: f'<p a="{ATTRIBUTES[:n]}',
    "formats": lambda n: "".join(f"<p><b a{i}></p>" for i in range(900)) + "<p>x" * (n // 4),
    "options": lambda n: "<select>" + "<option>x" * (n // 9),
    "selected options": lambda n: "<select>" + "<option selected='>'>x</option>" * (n // 30),
    "cells": lambda n: "<table><tr>" + "<td>x" * (n // 5),
    "blank cells": lambda n: "<table><tr>" + "<td> " * (n // 5),
    "drawings": lambda n: "<svg>" * (n // 5),
    "drawings that end": lambda n: "<svg><path/></svg>x" * (n // 19),
    "angle brackets": lambda n: "<" * n,
    "open tags": lambda n: "<p" * (n // 2),
    "anchors": lambda n: "<a name=x><p>" * (n // 13),
    "wrong nesting": lambda n: "<b><p>x</b>" * (n // 11),
    "comments": lambda n: "<!-- --" * (n // 7),
    "scripts": lambda n: "<script>" + "</script " * (n // 9),
    "entities": lambda n: "&amp" * (n // 4),
    "blanks": lambda n: " " * n,
    "items": lambda n: "<li><p>x" * (n // 8),
}
MAILS = {
    "header": lambda n: "Subject: " + "=?utf-8?q?a?= " * (n // 14) + "\n\nx",
    "addresses": lambda n: "Subject: x\nTo: " + "a@b, " * (n // 5) + "\n\nx",
    "open comments in addresses": lambda n: "Subject: x\nTo: " + "(" * n + "\n\nx",
    "headers": lambda n: "A: b\n" * (n // 5) + "\nx",
    "empty parts": lambda n: 'Content-Type: multipart/mixed; boundary="b"\n\n' + "--b\n\n" * (n // 5),
    "boundaries": lambda n: 'Content-Type: multipart/mixed; boundary="b"\n\n' + "--b\nA: b\n\nx\n" * (n // 12),
    "parameters": lambda n: "Content-Type: text/plain" + "; a=b" * (n // 5) + "\n\nx",
    "numbered parameters": lambda n: "Content-Disposition: x" + "".join(f"; a*{i}=b" for i in range(n // 8)) + "\n\nx",
    "a page": lambda n: f"Content-Type: text/html\n\n<p {ATTRIBUTES[:n]}>x",
}
TEXTS = {
    "hashes": lambda n: "#" * n,
    "headings": lambda n: "# a\n" * (n // 4),
    "fences": lambda n: "```\n" * (n // 4),
    "brackets": lambda n: "[" * n,
    "stars": lambda n: "*a " * (n // 3),
    "front matter": lambda n: "---\n" + "a: b\n" * (n // 5),
    "front matter lists": lambda n: "---\na: " + "[" * n + "\n---\nx",
    "anchors of front matter": lambda n: "---\n" + "".join(f"a{i}: &x{i} b\n" for i in range(n // 12)) + "---\nx",
    "bars": lambda n: "|a" * (n // 2) + "\n|-" + "|-" * (n // 2),
    "underlines": lambda n: "a\n===\n" * (n // 6),
    "indents": lambda n: "".join(" " * (i % 50) + "- a\n" for i in range(n // 30)),
}
CASES = [
    pytest.param(suffix, make, size, id=f"{suffix} {name}")
    for suffix, size, table in (
        (".csv", 8_000, TABLES),
        (".html", 8_000, PAGES),
        (".eml", 60_000, MAILS),
        (".md", 8_000, TEXTS),
        (".rst", 8_000, TEXTS),
    )
    for name, make in table.items()
]


@pytest.mark.parametrize(("suffix", "make", "size"), CASES)
def test_reading_takes_linear_time(suffix: str, make, size: int, tmp_path: Path) -> None:
    path = tmp_path / f"hostile{suffix}"

    def read(text: str) -> None:
        path.write_text(text, newline="")
        with contextlib.suppress(AssayError):  # refusing it is fine, too
            list(read_file(path, "hostile"))

    assert grows_linearly(read, make, size=size)
