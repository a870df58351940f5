"""What data may do: nothing, until the user allows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.errors import ConfigError
from assay.util.permissions import (
    Effect,
    NotAllowed,
    address_effects,
    allow_file,
    find_forbidden,
    host_effect,
    parse_effect,
    read_allow_file,
    read_allowed,
    require,
    write_allow_file,
)

QMD = Effect("program", "qmd")
JINA = Effect("host", "api.jina.ai")


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path / "assay" / "allow"


def test_nothing_is_allowed_by_default() -> None:
    assert read_allowed() == frozenset()
    with pytest.raises(NotAllowed, match="start the program qmd") as error:
        require(QMD, JINA)
    assert error.value.cure.endswith("assay allow program:qmd host:api.jina.ai")


def test_the_variable_and_the_file_allow(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_ALLOW", "program:qmd, variable:JINA_API_KEY")
    write_allow_file([JINA, JINA])
    assert config.read_text() == "host:api.jina.ai\n"
    require(QMD, JINA, Effect("variable", "JINA_API_KEY"))
    assert find_forbidden([Effect("program", "qmd2"), QMD, Effect("variable", "JINA")]) == [
        Effect("program", "qmd2"),
        Effect("variable", "JINA"),
    ]


def test_a_name_is_compared_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_ALLOW", "program:qmd,host:jina.ai")
    for effect in (Effect("program", "/tmp/qmd"), Effect("program", "qmd "), Effect("host", "evil.jina.ai"), JINA):
        with pytest.raises(NotAllowed):
            require(effect)


def test_a_star_allows_its_own_kind_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_ALLOW", "program:*")
    require(QMD, Effect("program", "anything"))
    with pytest.raises(NotAllowed):
        require(JINA)


def test_comments_and_blank_lines_of_the_file(config: Path) -> None:
    config.parent.mkdir()
    config.write_text("# mine\n\nprogram:qmd  # search\nhost:API.Jina.ai\n")
    assert read_allow_file() == [QMD, JINA]


@pytest.mark.parametrize("text", ["qmd", "program:", ":qmd", "file:/etc/passwd", "program:a b", "host:a\tb"])
def test_what_cannot_be_allowed_is_an_error(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="nothing that can be allowed"):
        parse_effect(text)
    monkeypatch.setenv("ASSAY_ALLOW", text)
    with pytest.raises(ConfigError):
        read_allowed()


def test_a_file_that_cannot_be_read_is_an_error_not_a_permission(config: Path) -> None:
    config.parent.mkdir()
    config.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=str(allow_file())):
        require(QMD)


def test_hosts_of_addresses() -> None:
    assert host_effect("https://API.jina.ai:8443/v1/rerank") == JINA
    assert host_effect("http://[::1]:80/") == Effect("host", "::1")
    assert address_effects("postgres://me@db.example/kb") == (Effect("host", "db.example"),)
    assert address_effects("s3://bucket/folder") == (Effect("host", "bucket"),)
    assert address_effects("/home/me/kb") == address_effects("file:///home/me/kb") == ()
