"""Which backend keeps a store is said by its address."""

from pathlib import Path

import pytest

from assay.backend.addresses import ALIASES, BACKENDS, create_backend, open_backend, parse_address, redact_password
from assay.backend.postgres.connections import Address
from assay.errors import AssayError, ConfigError, StoreError
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


def test_the_home_folder_is_written_as_a_tilde(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hosts of MCP servers pass arguments without a shell, so nobody else would expand it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert parse_address("~/kb") == ("local", str(tmp_path / "kb"))
    assert parse_address(Path("~/notes.sqlite")) == ("sqlite", str(tmp_path / "notes.sqlite"))
    assert parse_address("local:~/kb") == ("local", str(tmp_path / "kb"))
    assert parse_address("~kb") == ("local", "~kb")  # a name like any other
    create_backend("~/kb", SETTINGS).close()
    assert [path.name for path in tmp_path.iterdir()] == ["kb"]


def test_an_unknown_scheme_names_the_nearest_and_the_way_out() -> None:
    with pytest.raises(ConfigError, match="no backend keeps stores at locla:") as told:
        parse_address("locla:kb")
    assert "'local'" in told.value.cure
    assert "./locla:" in told.value.cure


MISTYPED = (
    "postgre://ada:s3cret@host/db",
    "postgres//ada:s3cret@host/db",
    "postgres;//ada:s3cret@host/db",
    "postgres//host/db",
    " postgres://ada:s3cret@host/db",
    "\tpostgresql://ada:s3cret@host/db",
    "'postgres://ada:s3cret@host/db'",
    "postgres:/ada:s3cret@host/db",
    "postgres:ada:s3cret@host",
    "postgres://ada:s3cret",
    "p://ada:s3cret@host/db",
    "post.gres://ada:s3cret@host/db",
    "ada:s3cret@host/db",
    "ada.l:s3cret@host/db",
    "ada@work:s3cret@host/db",
    "//ada:s3cret@host/db",
    "://ada:s3cret@host/db",
    "host=db user=ada password=s3cret",
    "PGPASSWORD=s3cret host=db",
    "host=db PASSWORD = s3cret",
    "mysql://ada:s3cret@host/db",
    "https://ada:s3cret@host/db",
    "s3://bucket/kb",
)


@pytest.mark.parametrize("address", MISTYPED)
def test_a_mistyped_address_becomes_no_folder_and_its_password_is_not_shown(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as told:
        create_backend(address, SETTINGS)
    assert told.value.cure
    assert "s3cret" not in str(told.value)
    assert "s3cret" not in redact_password(address) or "@" not in address
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("address", ["./a:b@c", "/data/a:b@c", "../x://y", "~a:b@c", "plain", "a@b", "a.b/c"])
def test_a_path_may_hold_any_character(address: str) -> None:
    assert parse_address(address) == ("local", address)


@pytest.mark.parametrize("address", ["x" * 5000, "a:" + "x" * 5000, "nul\0:x", "nul\0"])
def test_names_that_no_file_can_have_are_errors_with_a_cure(address: str) -> None:
    with pytest.raises(AssayError) as told:
        create_backend(address, SETTINGS)
    assert told.value.cure


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
    assert redact_password("postgres://host/db?sslpassword=a&b=1") == "postgres://host/db?sslpassword=…&b=1"
    assert redact_password("host=db password='a b' user=x") == "host=db password=… user=x"
    assert redact_password("ada:secret@host") == "ada:…@host"
    assert redact_password("postgres:/ada:secret@host") == "postgres:…@host"


def test_every_alias_stands_for_a_backend() -> None:
    assert set(ALIASES.values()) <= {*BACKENDS, "postgres"}


def test_an_index_is_shown_as_it_is_written_and_its_key_is_not() -> None:
    written = "postgres://ann@db/team?schema=notes&index=qdrant://node1:6333,node2:6333/kb&index_shards=2"
    assert str(Address.parse(f"{written}&index_key=s3cret")) == written
    assert Address.parse(str(Address.parse(written))).index == Address.parse(written).index
