from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.bench.workspace import IndexSettings, Workspace, prepare
from tests.bench.hand_made import dataset


@pytest.fixture(scope="session")
def words(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """The hand-made corpus, words only."""
    cache: Path = tmp_path_factory.mktemp("bench")
    with prepare(dataset(), IndexSettings("none"), cache=cache) as workspace:
        yield workspace
