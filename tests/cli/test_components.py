"""`assay components` lists Assay's own components and those of plug-ins, also the ones that cannot be loaded."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from assay.backend.addresses import BACKENDS
from assay.config.components import first_sentence, list_components
from assay.config.registry import TABLES, component_class
from assay.embed import EMBEDDERS
from assay.errors import ConfigError
from assay.ingest.readers import READERS

Run = Callable[..., Result]

PLUGIN = '''
"""A plug-in with something of every kind."""

class Twice:
    """Doubles every score. The second sentence is not shown."""

    def apply(self, query, ranking, snapshot): ...

class Few:
    """Keeps a few."""

    def select(self, query, ranking, snapshot): ...

class Plain: ...

def embedder(argument): ...
'''
POINTS = """[assay.steps]
twice = assay_several:Twice
few = assay_several:Few
top_k = assay_several:Few
[assay.fusers]
plain = assay_several:Plain
broken = assay_nowhere:Fuser
[assay.triples]
said = assay_several:Plain
[assay.embedders]
several = assay_several:embedder
[assay.readers]
.org = assay_several:nothing_of_this_name
[assay.backends]
cloud = assay_several:embedder
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "assay_several.py").write_text(PLUGIN)
    metadata = tmp_path / "assay_several-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: assay-several\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "assay_several", raising=False)


def test_every_component_of_ours_is_listed_and_described() -> None:
    own = [info for info in list_components() if info.origin == "assay"]
    names = {(info.kind, info.name) for info in own}
    steps = {name for kind, name in names if kind in ("stage", "selector")}
    for kind in ("leg", "source", "trigger", "fuser"):
        assert {name for other, name in names if other == kind} == set(TABLES[kind])
    assert steps == set(TABLES["step"])
    assert {name for kind, name in names if kind == "embedder"} == set(EMBEDDERS)
    assert {name for kind, name in names if kind == "reader"} == set(READERS)
    assert {name for kind, name in names if kind == "backend"} == set(BACKENDS)
    for info in own:
        assert not info.trouble, info
        assert 10 < len(info.about) < 200, info
        assert info.place.startswith("assay."), info
    assert ("stage", "decay") in names
    assert ("selector", "mmr") in names


@pytest.mark.usefixtures("plugin")
def test_plug_ins_are_listed_with_their_distribution() -> None:
    infos = {(i.kind, i.name): i for i in list_components() if i.origin == "assay-several"}
    assert infos["stage", "twice"].about == "Doubles every score."
    assert infos["selector", "few"].about == "Keeps a few."
    assert (
        infos["fuser", "plain"].about
        == infos["triples reader", "said"].about
        == "A plug-in with something of every kind."
    )
    assert infos["embedder", "several"].place == "assay_several:embedder"
    assert infos["selector", "top_k"].trouble == "assay has a step of this name, which is used instead"
    assert "ModuleNotFoundError: No module named 'assay_nowhere'" in infos["fuser", "broken"].trouble
    assert "AttributeError" in infos["reader", ".org"].trouble
    assert not infos["backend", "cloud"].trouble


@pytest.mark.usefixtures("plugin")
def test_the_command(run: Run) -> None:
    shown = run("components")
    assert shown.exit_code == 0
    lines = shown.stdout.splitlines()
    assert [line for line in lines if not line.startswith(" ")] == [
        "leg", "source", "trigger", "fuser", "stage", "selector", "packer", "embedder", "reader", "triples reader",
        "backend",
    ]  # fmt: skip
    assert any(line.split()[:2] == ["rrf", "assay"] for line in lines)
    assert any(line.split()[:2] == ["twice", "assay-several"] and "Doubles every score." in line for line in lines)
    broken = next(line for line in lines if line.startswith("  broken"))
    assert "assay-several" in broken
    assert "cannot be loaded: ModuleNotFoundError" in broken
    rows = json.loads(run("components", "--json").stdout)
    assert {"kind", "name", "about", "origin", "place", "trouble"} == set(rows[0])
    assert [row["name"] for row in rows if row["kind"] == "leg"] == sorted(TABLES["leg"])


def test_a_hostile_docstring_cannot_write_to_the_terminal(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "assay_hostile.py").write_text('class Fuser:\n    "Fuses \\x1b[31mred\\x1b[0m."\n')
    metadata = tmp_path / "assay_hostile-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: assay-hostile\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[assay.fusers]\nhostile = assay_hostile:Fuser\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "\x1b" not in run("components").stdout


def test_the_first_sentence() -> None:
    class Described:
        """Keeps what a filter keeps, e.g. `n > 3`.
        More follows."""

    class Introduced:
        """Computes the following:

        score = 1
        """

    assert first_sentence(Described) == "Keeps what a filter keeps, e.g. `n > 3`."
    assert first_sentence(Introduced) == "Computes the following"
    assert first_sentence(Described()) == first_sentence(test_the_first_sentence)


def test_an_unknown_component_mentions_plug_ins() -> None:
    with pytest.raises(ConfigError, match="there is no fuser called 'rff'") as caught:
        component_class("fuser", "rff")
    assert caught.value.cure.startswith("did you mean 'rrf'? known: append_fill, ")
    assert caught.value.cure.endswith("; `assay components` lists them; a plug-in must be installed beside assay")
