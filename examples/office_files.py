"""Writes the two binary pages of the handbook, a PDF and a Word file, reproducibly with Python alone."""

import zipfile
from pathlib import Path

HANDBOOK = Path(__file__).resolve().parent / "handbook"
FIELD_CARD = """Field card: what the display of a gauge shows

E03  No gateway has answered for an hour. Check the antenna.
E17  The pack is nearly empty: change it within four weeks.
E21  Water in the housing. Take the gauge out at once.

Two dots: the gauge is asleep and will wake for its next reading."""
FIRST_WEEK = """Monday: laptop, badge and a hardware token. Somebody from your team has lunch with you.
Tuesday: install the tools, read three pages of this handbook, mend one sentence in one of them.
Thursday: go out with the field team and get your feet wet. Rubber boots are in the store room, sizes 36 to 47.
Friday: ship something small. Your buddy reviews it and rings the bell."""

OFFICE = "http://schemas.openxmlformats.org"
TYPES = f"""<Types xmlns="{OFFICE}/package/2006/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Override PartName="/word/document.xml"
 ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/>
<Override PartName="/core.xml" ContentType="application/vnd.openxmlformats-package.core-properties+xml"/></Types>"""
LINKS = f"""<Relationships xmlns="{OFFICE}/package/2006/relationships">
<Relationship Id="body" Type="{OFFICE}/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/>
<Relationship Id="core" Type="{OFFICE}/package/2006/relationships/metadata/core-properties" Target="core.xml"/>
</Relationships>"""


def pdf(text: str, title: str, created: str) -> bytes:
    """One page of Helvetica: numbered objects, then the table of their offsets."""
    page = "BT /F1 12 Tf 16 TL 60 780 Td " + "".join(f"({line}) Tj T* " for line in text.split("\n")) + "ET"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 /MediaBox [0 0 595 842] >>",
        "<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        f"<< /Length {len(page)} >>\nstream\n{page}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< /Title ({title}) /CreationDate (D:{created}) >>",
    ]
    document, offsets = "%PDF-1.4\n", ["0000000000 65535 f \n"]
    for number, body in enumerate(objects, 1):
        offsets.append(f"{len(document):010} 00000 n \n")
        document += f"{number} 0 obj\n{body}\nendobj\n"
    end = f"trailer\n<< /Size {len(offsets)} /Root 1 0 R /Info 6 0 R >>\nstartxref\n{len(document)}\n%%EOF\n"
    return f"{document}xref\n0 {len(offsets)}\n{''.join(offsets)}{end}".encode("ascii")


def docx(text: str, title: str, created: str, path: Path) -> None:
    """The necessary parts of a Word file with title and date, in a zip archive without time stamps."""
    paragraphs = "".join(f"<w:p><w:r><w:t>{line}</w:t></w:r></w:p>" for line in text.split("\n"))
    core = f"""<cp:coreProperties xmlns:cp="{OFFICE}/package/2006/metadata/core-properties"
 xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/"
 xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><dc:title>{title}</dc:title>
<dcterms:created xsi:type="dcterms:W3CDTF">{created}</dcterms:created></cp:coreProperties>"""
    parts = {
        "[Content_Types].xml": TYPES,
        "_rels/.rels": LINKS,
        "core.xml": core,
        "word/document.xml": f"""<w:document xmlns:w="{OFFICE}/wordprocessingml/2006/main">
<w:body>{paragraphs}</w:body></w:document>""",
    }
    with zipfile.ZipFile(path, "w") as package:
        for name, part in parts.items():
            package.writestr(zipfile.ZipInfo(name), f'<?xml version="1.0" encoding="UTF-8"?>\n{part}')


if __name__ == "__main__":
    (HANDBOOK / "product/field-card.pdf").write_bytes(pdf(FIELD_CARD, "Field card", "20240520000000Z"))
    docx(FIRST_WEEK, "Your first week", "2024-02-05T00:00:00Z", HANDBOOK / "people/first-week.docx")
