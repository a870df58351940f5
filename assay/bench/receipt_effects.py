"""What running a receipt again would do outside of this process. A receipt may come from a stranger."""

from __future__ import annotations

from collections.abc import Iterable

from assay.bench.systems import System
from assay.config.effects import find_effects
from assay.embed.http import KEY_VARIABLE
from assay.util.permissions import Effect, NotAllowed, describe_cure, find_forbidden, host_effect

DOWNLOADS = "ir_datasets"
"""The prefix of datasets that are downloaded when they are first read."""


def system_effects(system: System) -> list[Effect]:
    """What the pipeline of a system would do."""
    return [] if system.pipeline is None else [effect for _, effect in find_effects(system.pipeline)]


def embedder_effects(spec: str) -> list[Effect]:
    """What an embedder would do: one behind HTTP sends every text to its host, with a key."""
    name, _, address = spec.partition(":")
    return [host_effect(address.partition("#")[0]), Effect("variable", KEY_VARIABLE)] if name == "http" else []


def dataset_effects(source: str) -> list[Effect]:
    """What reading a dataset would do: some are downloaded."""
    return [Effect("host", DOWNLOADS)] if source.partition(":")[0] == DOWNLOADS else []


def require_allowed(effects: Iterable[Effect]) -> None:
    """Raise NotAllowed with everything that a receipt would do and the user has not allowed."""
    if forbidden := find_forbidden(effects):
        listed = ", ".join(effect.sentence for effect in forbidden)
        raise NotAllowed(f"running this receipt would {listed}", describe_cure(forbidden))
