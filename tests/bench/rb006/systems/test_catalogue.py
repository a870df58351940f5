"""The systems of the benchmark: one selector and pool, one rerank stage, ablations that change one thing."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from assay.bench.rb006.systems import ABLATIONS, MAIN, find_systems
from assay.bench.rb006.systems.catalogue import POOL, SELECTORS
from assay.errors import ConfigError, ModelError


def flatten(config: Any, path: str = "") -> dict[str, Any]:
    if isinstance(config, dict):
        return {k: v for key, value in config.items() for k, v in flatten(value, f"{path}.{key}").items()}
    if isinstance(config, list):
        return {k: v for n, value in enumerate(config) for k, v in flatten(value, f"{path}[{n}]").items()}
    return {path: config}


@pytest.mark.parametrize("name", ["bm25", "dense", "hybrid", "flat-strong", "flat-strong-xlink", "race", "hcr"])
def test_every_system_has_the_same_selector_and_pool(name: str) -> None:
    (system,) = find_systems([name])
    assert system.config["k"] == POOL == 50
    assert system.config["context"]["use"] == "coverage"
    assert system.config["context"]["pool"] == POOL
    assert all(step.get("pool", POOL) == POOL for step in system.config.get("step", []))


def test_the_arms_differ_only_in_who_answers() -> None:
    race, beam, collapsed = find_systems(["race", "beam-only", "collapsed-only"])
    for only, system in (("beam", beam), ("collapsed", collapsed)):
        changed = {key for key, value in flatten(system.config).items() if flatten(race.config)[key] != value}
        assert changed == {".fuse.only"}
        assert system.config["fuse"]["only"] == only


@pytest.mark.parametrize("name", list(ABLATIONS))
def test_an_ablation_changes_one_part(name: str) -> None:
    race, ablated = find_systems(["race", name])
    before, after = flatten(race.config), flatten(ablated.config)
    changed = {key for key in {*before, *after} if before.get(key) != after.get(key)}
    parts = {key.split(".")[1].split("[")[0] for key in changed}
    if ablated.tree:
        assert not changed
    elif name.startswith("select-"):
        assert parts == {"context"}
    elif name == "rerank-off":
        assert parts == {"step"}
        assert ablated.config.get("step", []) == []
    else:
        assert changed
        assert all(key.startswith(".legs.beam.") for key in changed)
    assert ablated.digest != race.digest


def test_all_digests_differ() -> None:
    systems = find_systems([name for name in (*MAIN, *ABLATIONS) if name != "rerank-children"])
    digests = {system.name: system.digest for system in systems}
    assert len(set(digests.values())) == len(digests)


def test_the_rerank_stage_is_chosen_by_name(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"weights")
    (flat,) = find_systems(["flat-strong"], rerank=f"cross_encoder:{tmp_path}")
    assert [step["use"] for step in flat.config["step"]] == ["exact_bonus", "cross_encoder"]
    assert flat.config["step"][-1]["path"] == str(tmp_path)
    (hcr,) = find_systems(["hcr"], rerank=f"cross_encoder:{tmp_path}")
    assert hcr.config["legs"]["beam"]["rerank"] == f"cross_encoder:{tmp_path}"


def test_an_installed_cross_encoder_is_named_and_pinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path))
    file = tmp_path / "models" / "ce" / "model.onnx"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"weights")
    (flat,) = find_systems(["flat-strong"], rerank="cross_encoder:ce")
    step = flat.config["step"][-1]
    assert (step["model"], step["path"], step["cache"]) == ("ce", "", True)
    assert step["sha256"] == hashlib.sha256(b"weights").hexdigest()
    file.write_bytes(b"other weights")
    assert find_systems(["flat-strong"], rerank="cross_encoder:ce")[0].digest != flat.digest


@pytest.mark.parametrize("rerank", ["", "late_interaction:x", "cross_encoder", "cross_encoder:", "bm25", "late"])
def test_an_unknown_rerank_stage_is_refused(rerank: str) -> None:
    with pytest.raises(ConfigError, match="no rerank stage"):
        find_systems(["flat-strong"], rerank=rerank)


@pytest.mark.parametrize("where", ["missing", "a/folder"])
def test_a_cross_encoder_that_is_not_there_is_refused(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path))
    with pytest.raises(ModelError, match=r"no cross-encoder .*model\.onnx") as error:
        find_systems(["flat-strong"], rerank=f"cross_encoder:{where}")
    assert "train_reranker assemble --install" in str(error.value.cure)
    assert find_systems(["bm25"], rerank=f"cross_encoder:{where}"), "a system without a rerank stage needs none"


def test_a_run_without_a_system_is_refused() -> None:
    with pytest.raises(ConfigError, match="no system is named") as error:
        find_systems([])
    assert "main" in str(error.value.cure)


def test_a_system_is_listed_once_among_the_known_ones() -> None:
    with pytest.raises(ConfigError) as error:
        find_systems(["qqqq"])
    known = str(error.value.cure).rpartition("known: ")[2].split(", ")
    assert len(known) == len(set(known))


def test_unknown_systems_are_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="no system 'flatstrong'") as error:
        find_systems(["flatstrong"])
    assert "flat-strong" in str(error.value.cure)


def test_lattice_is_listed_and_not_run() -> None:
    with pytest.raises(ConfigError, match="LATTICE"):
        find_systems(["lattice"])


def test_groups_of_systems_and_no_repeats() -> None:
    systems = find_systems(["race", "seeds", "race", "ablations"])
    names = [system.name for system in systems]
    assert len(names) == len(set(names))
    assert {f"race-seed-{seed}" for seed in range(1, 6)} <= set(names)
    assert [system.tree for system in systems if system.name == "race-seed-3"] == [{"seed": 3}]


def test_selectors_share_the_pool() -> None:
    assert {settings["pool"] for settings in SELECTORS.values()} == {POOL}
