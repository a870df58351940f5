"""The pinned requirements, held against what the installed packages ask for."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

LIST = Path(__file__).parents[2] / "requirements" / "dev.txt"


def pins() -> dict[str, Requirement]:
    lines = (line.rstrip("\\ ") for line in LIST.read_text(encoding="utf-8").splitlines() if line[:1].isalnum())
    found = [Requirement(line) for line in lines]
    return {canonicalize_name(pin.name): pin for pin in found}


def test_every_package_is_pinned_to_one_version_with_hashes() -> None:
    assert len(pins()) > 100
    for pin in pins().values():
        assert [spec.operator for spec in pin.specifier] == ["=="], pin
    text = LIST.read_text(encoding="utf-8")
    assert text.count("==") <= text.count("--hash=sha256:")


def test_the_extras_a_package_asks_for_stand_in_the_pins() -> None:
    """With hashes, pip refuses `other[extra]` if the pin lacks the extra and a newer release is out."""
    pinned, checked = pins(), 0
    for package in metadata.distributions():
        if canonicalize_name(package.name) not in pinned:
            continue
        for asked in map(Requirement, package.requires or []):
            pin = pinned.get(canonicalize_name(asked.name))
            if pin is not None and (asked.marker is None or asked.marker.evaluate({"extra": ""})):
                checked += bool(asked.extras)
                assert asked.extras <= pin.extras, f"{package.name} asks for {asked}; pinned is {pin}"
    assert checked, "no installed package asks for an extra: this test would notice nothing"
