"""HTML, PDF and Word: small files made here, and the hostile ones."""

import io
import math
import re
import zipfile
from datetime import UTC, datetime

import docx
import pytest
from docx.oxml import OxmlElement

from assay.errors import BadFile, MissingExtra
from assay.ingest.discovery import read_file
from assay.ingest.readers import docx as docx_reader
from assay.ingest.readers.html import html_text
from assay.types import Section

JUNE = 1748736000.0


@pytest.fixture
def read(tmp_path):
    def read(content, name):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        (document,) = read_file(path, f"docs/{name}")
        return document

    return read


# HTML ---------------------------------------------------------------------------------------------------------------


def test_html_keeps_what_people_read(read):
    document = read(
        """<!doctype html><html lang="en-GB"><head><title>Signing  keys</title>
        <meta name="keywords" content="ops, security"><meta name="author" content="Ada">
        <meta property="article:published_time" content="2025-06-01T00:00:00Z">
        <style>p{color:red}</style><script>var x = "<h1>no</h1>"</script></head>
        <body><nav><a href=/>Home</a></nav><header role=banner>Site</header>
        <main><h1>Keys<a class=headerlink href=#k>¶</a></h1>
        <p>How <b>ke</b>ys
           are kept.<br>Twice.</p><!-- no -->
        <h2>Rotation</h2><ul><li>Every <i>ninety</i> days<li>Or sooner</ul>
        <table><tr><th>Key</th><th>Age</th></tr><tr><td><p>root</p></td><td>90 &amp; more</td></tr></table>
        <pre>
  $ rotate
      --now</pre><div hidden>no</div><button>no</button>
        <h3>Empty</h3></main><footer>© no</footer></body></html>""",
        "a.html",
    )
    assert document.title == "Signing keys"
    assert document.created == JUNE
    assert document.meta == {"date": "2025-06-01T00:00:00Z", "author": "Ada", "tags": ["ops", "security"], "lang": "en"}
    assert document.sections == (
        Section(("Keys",), "How keys are kept.\nTwice."),
        Section(
            ("Keys", "Rotation"),
            "- Every ninety days\n- Or sooner\n\n\nKey | Age\nroot | 90 & more\n\n\n```\n  $ rotate\n      --now\n```",
        ),
        Section(("Keys", "Rotation", "Empty"), "Empty"),
    )


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ('<meta charset="iso-8859-2"><p>\xb1'.encode("latin-1"), "ą"),
        (b'<meta charset="no-such-thing"><p>caf\xe9', "café"),
        (b'<meta http-equiv=content-type content="text/html; charset=utf-8"><p>caf\xe9', "café"),
        ("<p>ą".encode("utf-16"), "ą"),
        ("<p>ą".encode(), "ą"),
    ],
)
def test_html_charsets_that_tell_the_truth_and_that_lie(read, content, text):
    assert read(content, "a.html").sections == (Section((), text),)


@pytest.mark.parametrize("content", ["", "<p", "<!--", "<html></html>", "<script>x", "\n\n", "<p>&#0;&#xD800;"])
def test_html_stumps(read, content):
    document = read(content, "a.html")
    assert document.title == "a"
    assert "".join(s.text for s in document.sections).strip("\ufffd") == ""


def test_html_nested_deep_is_read_and_deeper_is_refused(read):
    assert read("<div>" * 900 + "<p>deep", "a.htm").sections == (Section((), "deep"),)
    assert read("<div><br><img><li></div>" * 5000 + "<p>wide", "a.htm").sections[0].text.endswith("wide")
    assert read("<script>" + "a<b;" * 5000 + "</script><p>code", "a.htm").sections == (Section((), "code"),)
    with pytest.raises(BadFile, match="nested"):
        read("<div>" * 100_000 + "<p>deep", "a.htm")
    assert html_text("<div>" * 100_000 + "<p>deep") == "deep"


def test_html_with_a_nul_or_another_format_is_refused(read):
    with pytest.raises(BadFile, match="NUL"):
        read(b"<p>a\0b", "a.html")
    with pytest.raises(BadFile, match="is a PDF"):
        read(b"%PDF-1.4", "a.html")


# PDF ----------------------------------------------------------------------------------------------------------------


def pdf(*pages, info="", trailer=""):
    """A minimal PDF: a text line per page (None: a page with nothing on it), uncompressed, with a true xref table."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for n, text in enumerate(pages):
        lines = [] if text is None else text.split("\n")
        stream = "BT /F1 12 Tf 72 700 Td 14 TL " + " ".join(f"({line}) Tj T*" for line in lines) + " ET"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * n} 0 R"
            " /Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    objects.append(f"<< {info} >>")
    out, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{content}\nendobj\n".encode("latin-1")
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    root = f"<< /Size {size} /Root 1 0 R /Info {size - 1} 0 R {trailer} >>"
    ending = f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n{root}"
    return out + f"{ending}\nstartxref\n{len(out)}\n%%EOF\n".encode("latin-1")


def test_pdf_pages_are_sections(read):
    info = "/Title (Signing keys) /Author (Ada) /Keywords (ops, security) /CreationDate (D:20250601020000+02'00')"
    document = read(pdf("Keys are kept.\nIn a safe.", None, "They rotate.", info=info), "a.pdf")
    assert (document.title, document.created) == ("Signing keys", JUNE)
    assert document.sections == (
        Section(("page 1",), "Keys are kept.\nIn a safe."),
        Section(("page 3",), "They rotate."),
    )
    assert document.meta == {
        "author": "Ada",
        "tags": ["ops", "security"],
        "date": "2025-06-01T02:00:00+02:00",
        "reader_notes": ["no text on 1 of 3 pages, the first is page 2"],
    }


def test_pdf_without_facts_is_called_by_its_name(read):
    document = read(pdf("x", info="/CreationDate (yesterday)"), "a.pdf")
    assert document.title == "a"
    assert document.meta["date"] == "yesterday"


def test_pdf_scanned(read):
    with pytest.raises(BadFile, match="2 pages hold no text; it is probably scanned") as raised:
        read(pdf(None, None), "a.pdf")
    assert "OCR" in raised.value.cure


def test_pdf_encrypted(read):
    encrypt = "/Encrypt << /Filter /Standard /V 1 /R 2 /Length 40 /P -4 /O <{0}> /U <{0}> >> /ID [<00><00>]".format(
        "41" * 32
    )
    with pytest.raises(BadFile, match="encrypted") as raised:
        read(pdf("secret", trailer=encrypt), "a.pdf")
    assert "password" in raised.value.cure


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"hello", "is something else, not a PDF"),
        (b"", "is an empty file, not a PDF"),
        (b"<!doctype html><p>Please log in", "is an HTML page, not a PDF"),
        (b"PK\x03\x04", "zip archive"),
        (b"%PDF-1.7\n", "cannot be opened"),
        (b"%PDF-1.7\n" + b"\0\xff" * 5000, "cannot be opened"),
    ],
)
def test_pdf_that_is_none(read, content, reason):
    with pytest.raises(BadFile, match=reason):
        read(content, "a.pdf")


def test_pdf_truncated_anywhere_is_whole_or_refused(read):
    whole = pdf("one", "two")
    for end in range(0, len(whole), 97):
        try:
            texts = [section.text for section in read(whole[:end], "a.pdf").sections]
        except BadFile:
            continue
        assert texts == ["one", "two"] or texts == ["one"]  # the engine repairs a lost table from the objects it finds


# Word ---------------------------------------------------------------------------------------------------------------


def word(build, **properties):
    document = docx.Document()
    build(document)
    for name, value in properties.items():
        setattr(document.core_properties, name, value)
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def test_docx_in_document_order(read):
    def build(document):
        document.add_heading("Signing keys", 0)
        document.add_paragraph("Intro.")
        document.add_heading("Rotation", 1)
        document.add_paragraph("Every ninety\tdays.")
        table = document.add_table(rows=2, cols=2)
        for cell, text in zip((c for row in table.rows for c in row.cells), ["Key", "Age", "root", "90"], strict=True):
            cell.text = text
        document.add_paragraph("First", style="List Bullet")
        document.add_heading("Details", 2)
        document.add_paragraph("Kept in a safe.")

    content = word(
        build,
        title="Key handbook",
        author="Ada",
        keywords="ops, security",
        created=datetime(2025, 6, 1, tzinfo=UTC),
        language="en-US",
    )
    document = read(content, "a.docx")
    assert (document.title, document.created) == ("Key handbook", JUNE)
    assert document.meta["author"] == "Ada"
    assert document.meta["tags"] == ["ops", "security"]
    assert document.meta["lang"] == "en"
    assert document.sections == (
        Section(("Signing keys",), "Intro."),
        Section(("Signing keys", "Rotation"), "Every ninety\tdays.\n\n\n| Key | Age |\n| root | 90 |\n\nFirst"),
        Section(("Signing keys", "Rotation", "Details"), "Kept in a safe."),
    )


def test_docx_takes_insertions_and_content_controls_and_leaves_deletions(read):
    def build(document):
        paragraph = document.add_paragraph("kept ")
        for tag, inner, text in (("w:ins", "w:t", "inserted"), ("w:del", "w:delText", "deleted")):
            change, run, piece = OxmlElement(tag), OxmlElement("w:r"), OxmlElement(inner)
            piece.text = text
            run.append(piece)
            change.append(run)
            paragraph._p.append(change)
        control, holder = OxmlElement("w:sdt"), OxmlElement("w:sdtContent")
        holder.append(document.add_paragraph("controlled")._p)
        control.append(holder)
        document.element.body.insert(1, control)

    assert read(word(build, title=""), "a.docx").sections == (Section((), "kept inserted\n\ncontrolled"),)


def zipped(**parts):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in parts.items():
            package.writestr(name.replace("__", "/").replace("_xml", ".xml"), content)
    return out.getvalue()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is an empty file, not a .docx"),
        (b"<html><p>", "is an HTML page, not a .docx"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "password-protected Office file"),
        (b"PK\x03\x04 and then nothing", "damaged"),
        (zipped(a="x"), "not a Word file"),
        (zipped(word__document_xml="<not-word/>"), "cannot be opened"),
        (zipped(word__document_xml="<unclosed"), "cannot be opened"),
        (zipped(wörd="x").replace("ö".encode(), b"\xf4A"), "the Word file is damaged"),
    ],
)
def test_docx_that_is_none(read, content, reason):
    with pytest.raises(BadFile, match=reason):
        read(content, "a.docx")


def test_docx_without_properties_has_no_title_and_no_date(read):
    """The library makes properties up, dated now; the wall clock must not enter a store."""
    whole = word(lambda document: document.add_paragraph("Only text."))
    bare = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as original, zipfile.ZipFile(bare, "w") as copy:
        for part in original.namelist():
            content = original.read(part)
            if part == "docProps/core.xml":
                continue
            if part in ("_rels/.rels", "[Content_Types].xml"):
                content = re.sub(rb"<(Relationship|Override)[^>]*core[^>]*/>", b"", content)
            copy.writestr(part, content)
    document = read(bare.getvalue(), "a.docx")
    assert math.isnan(document.created)
    assert "Word Document" not in document.title


def test_docx_truncated(read):
    whole = word(lambda document: document.add_paragraph("x"))
    for end in range(4, len(whole) - 1, len(whole) // 20):
        with pytest.raises(BadFile):
            read(whole[:end], "a.docx")


def test_docx_that_unpacks_to_too_much(read, monkeypatch):
    monkeypatch.setattr(docx_reader, "MOST_UNPACKED", 1 << 20)
    bomb = zipped(word__document_xml="<a/>", word__media=b"\0" * (2 << 20))
    assert len(bomb) < 10_000
    with pytest.raises(BadFile, match="unpacks to 2 MB"):
        read(bomb, "a.docx")


def test_docx_whose_directory_lies_about_its_size(read):
    whole = word(lambda document: document.add_paragraph("x"))
    with zipfile.ZipFile(io.BytesIO(whole)) as package:
        size = next(part.file_size for part in package.infolist() if part.filename == "word/document.xml")
    lie = whole.replace(size.to_bytes(4, "little"), (7).to_bytes(4, "little"))
    assert lie != whole
    with pytest.raises(BadFile):
        read(lie, "a.docx")


# Extras -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "package", "content"),
    [("a.html", "selectolax.lexbor", b"<p>x"), ("a.pdf", "pypdfium2", pdf("x")), ("a.docx", "docx", b"PK\x03\x04")],
)
def test_a_missing_package_is_named_with_its_cure(read, monkeypatch, name, package, content):
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(MissingExtra, match=f"reading {name[1:]} files") as raised:
        read(content, name)
    assert "pip install -e '.[docs]'" in raised.value.cure
