"""Errors in words: what and cure, no traceback, no path."""

import sqlite3

import pytest

from assay.errors import StoreError
from assay.serve.errors import describe_error, hide_paths


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        ("there is no store at /home/ada/.assay", "there is no store at (a path on the server)"),
        ("cannot open '/var/lib/assay/chunks.sqlite', try again", "cannot open '(a path on the server)', try again"),
        (r"cannot open C:\Users\ada\store\x.db", "cannot open (a path on the server)"),
        ("write it as 2025/06/01 or 1/2", "write it as 2025/06/01 or 1/2"),
        ("either/or, and/or", "either/or, and/or"),
        ("see https://example.org/a/b", "see https://example.org/a/b"),
    ],
)
def test_a_path_is_called_what_it_is(said, heard):
    assert hide_paths(said) == heard


def test_what_and_cure():
    assert describe_error(StoreError("the store is busy", "try again")) == "the store is busy\ncure: try again"


def test_a_database_and_a_disk_have_their_own_words():
    assert describe_error(sqlite3.OperationalError("disk I/O error")).startswith(
        "the store's database: disk I/O error\ncure: "
    )
    broken = PermissionError(13, "Permission denied", "/home/ada/.assay/x")
    assert describe_error(broken).startswith("the server's disk or network: Permission denied\ncure: ")


def test_what_nobody_foresaw_is_logged_and_not_told(caplog):
    payload = describe_error(KeyError("/home/ada/secret"))
    assert "secret" not in payload
    assert "cure: " in payload
    assert "secret" in caplog.text
