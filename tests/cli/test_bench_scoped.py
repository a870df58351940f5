"""`assay bench run --scoped` stands in the receipt."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result


@pytest.mark.parametrize("options", [(), ("--scoped",)])
def test_scoped_stands_in_the_receipt(run: Callable[..., Result], tmp_path: Path, options: tuple[str, ...]) -> None:
    words = ("--systems", "bm25", "--no-baselines", "--no-timing", "--embedder", "none", "--json")
    done = run("bench", "run", "tiny", *words, *options, env={"ASSAY_HOME": str(tmp_path)})
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["bm25"].get("scoped", False) is bool(options)
