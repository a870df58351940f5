"""Mail and mailboxes: honest, odd and hostile."""

import math
from email.message import EmailMessage

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import BadFile, MissingExtra
from assay.ingest.discovery import read_file
from assay.ingest.readers import mbox
from assay.types import Section

JUNE = 1748736000.0


@pytest.fixture
def read(tmp_path):
    def read(content, name="a.eml"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return list(read_file(path, f"mail/{name}"))

    return read


def test_a_mail_with_everything(read):
    message = EmailMessage()
    message["Subject"] = "Schlüssel wechseln"
    message["From"] = "Ada Löve <ada@example.org>"
    message["To"] = "bo@example.org, Cy <cy@example.org>"
    message["Date"] = "Sun, 01 Jun 2025 02:00:00 +0200"
    message["Message-ID"] = "<1@example.org>"
    message["In-Reply-To"] = "<0@example.org>"
    message.set_content("Grüße,\n\nAda\n")
    message.add_alternative("<p>Not <b>this</b></p>", subtype="html")
    message.add_attachment(b"\0\1", maintype="application", subtype="octet-stream", filename="keys.bin")
    (document,) = read(message.as_bytes())
    assert document.id == "mail/a.eml"
    assert (document.title, document.created) == ("Schlüssel wechseln", JUNE)
    assert document.sections == (Section((), "Grüße,\n\nAda"),)
    assert document.meta == {
        "from": "Ada Löve <ada@example.org>",
        "to": ["bo@example.org", "Cy <cy@example.org>"],
        "date": "Sun, 01 Jun 2025 02:00:00 +0200",
        "message_id": "1@example.org",
        "in_reply_to": "0@example.org",
        "attachments": ["keys.bin"],
    }


HEAD = b"From: a@b\nSubject: s\n"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (
            b"Content-Type: text/plain; charset=iso-8859-1\n"
            b"Content-Transfer-Encoding: quoted-printable\n\ncaf=E9 =\nau lait",
            "café au lait",
        ),
        (b"Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\nY2Fmw6k=", "café"),
        (
            b"Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\n!!! not base64",
            "!!! not base64",
        ),
        (b"Content-Type: text/plain; charset=utf-8\n\ncaf\xe9", "café"),  # the charset lies
        (b"Content-Type: text/plain; charset=us-ascii\n\ncaf\xc3\xa9", "café"),
        (b'Content-Type: text/plain; charset="no such"\n\ncaf\xc3\xa9', "café"),
        (b"Content-Type: text/plain; charset=rot13\n\nplain", "plain"),
        (b"Content-Type: text/html\n\n<style>x</style><h1>Hi</h1><p>a <b>b</b>", "Hi\n\na b"),
        (
            b"Content-Type: multipart/mixed; boundary=x\n\n--x\n\none\n--x\nContent-Type: text/plain\n\ntwo\n--x--",
            "one\n\ntwo",
        ),
        (b"Content-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: text/plain\n\ncut off", "cut off"),
        (b"Content-Type: multipart/mixed\n\nno boundary", "no boundary"),
        (b"Content-Type: message/rfc822\n\nSubject: inner\n\ninner text", "inner text"),
        (b"Content-Type: ;;;\n\nx", "x"),
        (b"\nbody\r\nwith\rends\0", "body\nwith\nends\ufffd"),
        (b"", ""),
    ],
)
def test_bodies(read, content, text):
    (document,) = read(HEAD + content)
    assert "".join(section.text for section in document.sections) == text


@pytest.mark.parametrize(
    ("raw", "title"),
    [
        (b"=?utf-8?q?caf=C3=A9?= =?iso-8859-1?b?6Q==?= x", "caféé x"),
        (b"=?utf-8?b?!!?=", "(no subject)"),
        (b"=?no-such?q?caf=E9?=", "café"),
        ("café".encode(), "café"),
        (b"caf\xe9", "café"),
        (b"folded\n over lines", "folded over lines"),
        (b"", "(no subject)"),
    ],
)
def test_subjects(read, raw, title):
    (document,) = read(b"From: a@b\nSubject: " + raw + b"\n\nx")
    assert document.title == title


@pytest.mark.parametrize("date", ["", "Date: yesterday\n", "Date: Mon, 99 Foo 2025\n", "Date: =?x?\n"])
def test_a_mail_without_a_readable_date_is_undated(read, date):
    (document,) = read(f"Subject: s\n{date}\nx")
    assert math.isnan(document.created)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is an empty file, not a mail"),
        (b"just text", "mail headers"),
        (b"%PDF-1.4", "is a PDF"),
        (b"<html><p>", "is an HTML page"),
    ],
)
def test_what_is_no_mail(read, content, reason):
    with pytest.raises(BadFile, match=reason):
        read(content)


MAILBOX = b"""From a@b Sun Jun  1 00:00:00 2025
Message-ID: <1@x>
Subject: first

From here it is body, because no header follows.

>From the escaped line
>>From twice

From now
on it is body too.

From - Mon Jun  2 00:00:00 2025
Subject: second, without id

two

From MAILER
Message-ID: <1@x>
Subject: the first id again

three
"""


@pytest.mark.parametrize("ends", [b"\n", b"\r\n"])
def test_a_mailbox(read, ends):
    documents = read(MAILBOX.replace(b"\n", ends), "a.mbox")
    assert [document.title for document in documents] == ["first", "second, without id", "the first id again"]
    first, second, third = documents
    assert first.id == "mail/a.mbox#1@x"
    assert third.id == "mail/a.mbox#1@x~2"
    assert second.id.startswith("mail/a.mbox#")
    assert len(second.id) == len("mail/a.mbox#") + 16
    assert first.sections[0].text == (
        "From here it is body, because no header follows.\n\nFrom the escaped line\n>From twice\n\n"
        "From now\non it is body too."
    )
    assert third.sections[0].text == "three"


def test_an_empty_mailbox_and_a_false_one(read):
    assert read(b"", "a.mbox") == []
    with pytest.raises(BadFile, match="not a mailbox"):
        read(b"Subject: a mail\n\nx", "a.mbox")


def test_a_message_that_defeats_the_parser_becomes_its_text(read, monkeypatch):
    def defeated(data):
        raise IndexError("odd")

    monkeypatch.setattr(mbox, "parse_message", defeated)
    (document,) = read(b"From a@b\nSubject: s\n\nthe words\n", "a.mbox")
    assert "the words" in document.sections[0].text
    assert "not a readable mail" in document.meta["reader_notes"][0]


def test_a_message_without_end_is_cut_with_a_note(read, monkeypatch):
    monkeypatch.setattr(mbox, "MOST_BYTES", 1 << 20)
    big = b"From a@b\nSubject: big\n\n" + b"word\n" * 300_000 + b"\nFrom a@b\nSubject: next\n\nx\n"
    first, second = read(big, "a.mbox")
    assert first.meta["reader_notes"] == ["longer than 1 MB; its end was not read"]
    assert len(first.sections[0].text) <= 1 << 20
    assert second.title == "next"


def test_a_mailbox_needs_the_html_parser_from_the_start(read, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "selectolax.lexbor", None)
    with pytest.raises(MissingExtra):
        read(MAILBOX, "a.mbox")
    assert read(b"Subject: plain\n\nx")[0].title == "plain"


@given(st.binary(max_size=300))
def test_any_bytes_after_a_header_are_a_mail(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("mail") / "a.mbox"
    path.write_bytes(b"From a\nSubject: s\nContent-Type: text/html\n" + content)
    for document in read_file(path, "a.mbox"):
        f"{document.id} {document.title} {document.meta} {document.sections}".encode()


# -- attachments


def mail_with(*attachments, subject="Minutes"):
    message = EmailMessage()
    message["Subject"] = subject
    message["From"] = "ada@example.org"
    message["Date"] = "Sun, 01 Jun 2025 02:00:00 +0200"
    message.set_content("See the files.\n")
    for name, content in attachments:
        message.add_attachment(content, maintype="application", subtype="octet-stream", filename=name)
    return message


def test_attachments_are_documents_of_their_own(read):
    table = b"pump,state\nnorth,leaking\n"
    mail, notes, row = read(mail_with(("notes.md", b"# Pump\nIt leaks."), ("pumps.csv", table)).as_bytes())
    assert mail.sections[0].text == "See the files."
    assert mail.meta["attachments"] == ["notes.md", "pumps.csv"]
    assert (notes.id, notes.title) == ("mail/a.eml#attachments/notes.md", "Pump")
    assert notes.created == mail.created == JUNE
    assert notes.meta["attachment"] == "notes.md"
    assert notes.meta["mail"] == "Minutes"
    assert row.id.startswith("mail/a.eml#attachments/pumps.csv#")
    assert "leaking" in row.sections[0].text


def test_an_attachment_that_cannot_be_read_costs_a_note(read):
    (mail,) = read(mail_with(("report.pdf", b"not a PDF at all"), ("photo.png", b"\x89PNG")).as_bytes())
    (note,) = mail.meta["reader_notes"]
    assert note.startswith("attachment report.pdf: is something else, not a PDF")
    assert "/tmp" not in note


def test_hostile_names_and_equal_names(read):
    documents = read(mail_with(("../../etc/passwd.txt", b"one"), ("passwd.txt", b"two"), ("..", b"x")).as_bytes())
    assert [d.id for d in documents[1:]] == [
        "mail/a.eml#attachments/passwd.txt",
        "mail/a.eml#attachments/passwd.txt~2",
    ]
    assert [d.title for d in documents[1:]] == ["passwd.txt", "passwd.txt"]


def test_mails_in_mails_end_somewhere(read):
    inner = mail_with(subject="0").as_bytes()
    for level in range(1, 7):
        inner = mail_with((f"{level}.eml", inner), subject=str(level)).as_bytes()
    documents = read(inner)
    assert [d.title for d in documents] == ["6", "5", "4", "3"]
    assert "3 mails deep" in documents[-1].meta["reader_notes"][0]


def test_a_mailbox_reads_attachments(read):
    box = b"From x Sun\n" + mail_with(("notes.txt", b"north pump")).as_bytes() + b"\n"
    mail, notes = read(box, "a.mbox")
    assert notes.id == f"{mail.id}#attachments/notes.txt"
    assert notes.sections[0].text == "north pump"
