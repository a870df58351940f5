"""A small handbook, a store made from it without a model, and a way to run commands as a person would."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from assay import kb
from assay.cli.main import cli

Run = Callable[..., Result]

HANDBOOK = {
    "keys.md": """---
title: Signing keys
created: 2025-03-01
---
# Signing keys
## Rotation
Rotate the signing key every ninety days. Run `keyctl rotate`, check the audit log, and announce it.
## Storage
The signing key lives in JINA_API_KEY. Never commit it.
""",
    "food.md": "# Kitchen\nThe kitchen closes at six. Bring your own cup.\n",
    "evil.txt": "evil \x1b[31mred\x1b[0m \x1b]0;owned\x07 \x9b2J \u202edlrow [bold]markup[/bold] \r signing\n",
    "people.jsonl": '{"id": "ada", "text": "Ada keeps the vault.", "scope": "team"}\n'
    '{"id": "bob", "text": "Bob cooks on Fridays.", "created": "2024-01-05"}\n',
}


def write_handbook(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name, text in HANDBOOK.items():
        (folder / name).write_text(text, "utf-8")
    return folder


@pytest.fixture
def handbook(tmp_path: Path) -> Path:
    return write_handbook(tmp_path / "handbook")


@pytest.fixture(scope="session")
def made_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("cli")
    with kb.open(base / "kb", embedder="none") as store:
        store.add(write_handbook(base / "handbook"))
        store.optimize()
    return base / "kb"


@pytest.fixture
def store(made_store: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(made_store, tmp_path / "kb"))


@pytest.fixture
def run() -> Run:
    """Run a command line; nothing of the caller's environment reaches it but the path to the models."""

    def invoke(*args: object, width: int = 100, env: dict[str, str] | None = None, **more: object) -> Result:
        clean = {"COLUMNS": str(width), "ASSAY_STORE": None, "NO_COLOR": None, "FORCE_COLOR": None, "ASSAY_DEBUG": None}
        return CliRunner(env={**clean, **(env or {})}).invoke(cli, [str(a) for a in args], **more)

    return invoke
