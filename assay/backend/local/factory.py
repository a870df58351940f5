"""Makes and opens stores of the local backend: folders."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.backend.local.backend import LocalBackend
from assay.errors import Reason, StoreError
from assay.store.backup_file import restore_backup
from assay.store.damage import accept_state
from assay.store.sqlite import SqliteStore
from assay.text.analyser import Analyser
from assay.types import Progress

NO_VECTORS = Reason(
    "this store was made without an embedding model", "assay model install, then assay optimize --embed"
)


class LocalFactory:
    """Implements `contract.RestoringFactory` for folders."""

    no_vectors = None

    def exists(self, address: str) -> bool:
        if Path(address).is_file():
            raise StoreError(f"{address} is a file, no store", "name a folder, or one file that ends in .sqlite")
        return SqliteStore.exists(Path(address))

    def create(self, address: str, settings: Mapping[str, Any]) -> LocalBackend:
        return _make_backend(SqliteStore.create(Path(address), settings))

    def restore(self, source: Path, address: str, progress: Progress) -> LocalBackend:
        return _make_backend(restore_backup(SqliteStore, source, Path(address), progress))

    def accept(self, address: str) -> int:
        return accept_state(SqliteStore.database(Path(address)))

    def open(self, address: str) -> LocalBackend:
        return _make_backend(SqliteStore.open(Path(address)))


def _make_backend(store: SqliteStore) -> LocalBackend:
    settings = store.settings
    return LocalBackend(store, Analyser(language=settings["language"]), settings["model"], settings["dim"], NO_VECTORS)


FACTORY = LocalFactory()
