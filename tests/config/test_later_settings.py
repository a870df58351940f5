"""Settings that came later: pipelines older than them keep their digests, and their receipts replay."""

from __future__ import annotations

from assay.config.load import from_dict, from_recorded, load, loads, to_config
from assay.legs.bm25 import Bm25

DEFAULT_0_1 = "dedc690c17a90cfd"
MEMORY = "00c8c289b3c352d8"


def test_the_default_of_version_0_1_keeps_its_digest() -> None:
    assert load("default-0.1").digest.startswith(DEFAULT_0_1)
    assert load("memory").digest.startswith(MEMORY)
    assert load("default").digest != load("default-0.1").digest


def test_each_later_setting_enters_the_digest() -> None:
    legs = ({}, {"k3": 0.0}, {"split_identifiers": True}, {"k3": 0.0, "split_identifiers": True}, {"k3": 3.0})
    digests = {from_dict({"k": 5, "legs": {"bm25": {"k": 5, **leg}}}).digest for leg in legs}
    assert len(digests) == len(legs)


def test_a_config_recorded_before_them_behaves_as_it_did() -> None:
    old = to_config(load("default-0.1"))
    for name in Bm25.digest_omits:
        del old["legs"]["bm25"][name]
    assert from_recorded(old).digest == load("default-0.1").digest
    today = to_config(load("default"))["legs"]["bm25"]
    written = to_config(from_dict(old))["legs"]["bm25"]  # what people write gets the present defaults
    assert {name: written[name] for name in Bm25.digest_omits} == {name: today[name] for name in Bm25.digest_omits}
    assert from_dict(old).digest != load("default-0.1").digest


def test_a_recorded_config_is_whole() -> None:
    for name in ("default", "default-0.1", "router", "memory", "weighted"):
        assert from_recorded(to_config(load(name))).digest == load(name).digest
    nested = loads("k = 5\n[legs.first]\nk = 5\n[legs.first.legs.bm25]\nk = 5\nk3 = 0.0\nsplit_identifiers = true\n")
    old = to_config(nested)
    for name in Bm25.digest_omits:
        del old["legs"]["first"]["legs"]["bm25"][name]
    assert from_recorded(old).digest == nested.digest
