"""Which backend keeps a store is said by its address."""

from pathlib import Path

import pytest

from assay.backend.addresses import ALIASES, BACKENDS, open_backend, parse_address, redact_password
from assay.errors import ConfigError, StoreError
from assay.store.sqlite import SqliteStore

SETTINGS = {"embedder": "none", "model": "", "dim": 0, "language": "english", "profile": "default"}


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("kb", ("local", "kb")),
        ("./a/b.c", ("local", "./a/b.c")),
        ("local:kb", ("local", "kb")),
        ("folder:./kb", ("local", "./kb")),
        ("C:", ("local", "C:")),  # one letter is no scheme
        ("", ("local", "")),
        ("notes.sqlite", ("sqlite", "notes.sqlite")),
        ("a/NOTES.DB", ("sqlite", "a/NOTES.DB")),
        ("sqlite:notes", ("sqlite", "notes")),
    ],
)
def test_an_address_names_its_backend(address: str, expected: tuple[str, str]) -> None:
    assert parse_address(address) == expected


def test_an_unknown_scheme_names_the_nearest_and_the_way_out() -> None:
    with pytest.raises(ConfigError, match="no backend keeps stores at locla:") as told:
        parse_address("locla:kb")
    assert "'local'" in told.value.cure
    assert "./locla:" in told.value.cure


def test_a_folder_that_is_there_needs_no_scheme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes:2024").mkdir()
    assert parse_address("notes:2024") == ("local", "notes:2024")


def test_a_folder_store_keeps_its_kind_whatever_its_name_ends_with(tmp_path: Path) -> None:
    folder = tmp_path / "old.db"
    SqliteStore.create(folder, SETTINGS).close()
    assert parse_address(str(folder)) == ("local", str(folder))


def test_no_store_is_an_error_with_the_cure(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no store") as told:
        open_backend(tmp_path / "nothing")
    assert "assay add" in told.value.cure


def test_messages_hide_a_password() -> None:
    assert redact_password("postgres://ada:secret@host/db") == "postgres://ada:…@host/db"
    assert redact_password("postgres://ada@host/db") == "postgres://ada@host/db"
    assert redact_password("postgres://ada:s/e#c@r:et@host/db") == "postgres://ada:…@host/db"
    assert (
        redact_password("postgres://host/db?schema=a&password=secret&b=1")
        == "postgres://host/db?schema=a&password=…&b=1"
    )


def test_every_alias_stands_for_a_backend() -> None:
    assert set(ALIASES.values()) <= {*BACKENDS, "postgres"}
