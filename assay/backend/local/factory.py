"""Folders: where the embedded backend is found, what a person can do to keep it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.backend.local.backend import LocalBackend
from assay.errors import StoreError
from assay.store.sqlite import SqliteStore
from assay.text.analyse import Analyser

NO_VECTORS = "this store was made without an embedding model; cure: assay model install, then assay optimize --embed"


class LocalFactory:
    """Implements `kept.Place`."""

    no_vectors = ""

    def exists(self, address: str) -> bool:
        if Path(address).is_file():
            raise StoreError(f"{address} is a file, no store", "name a folder, or one file that ends in .sqlite")
        return SqliteStore.exists(Path(address))

    def create(self, address: str, settings: Mapping[str, Any]) -> LocalBackend:
        return _backend(SqliteStore.create(Path(address), settings))

    def open(self, address: str) -> LocalBackend:
        return _backend(SqliteStore.open(Path(address)))


def _backend(store: SqliteStore) -> LocalBackend:
    settings = store.settings
    return LocalBackend(store, Analyser(language=settings["language"]), settings["model"], settings["dim"], NO_VECTORS)


FACTORY = LocalFactory()
