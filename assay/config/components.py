"""Lists every component by name: Assay's own and those of plug-ins, with what each does and where it comes from."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from assay.backend import addresses
from assay.config.registry import GROUPS, TABLES
from assay.embed import EMBEDDERS
from assay.embed import GROUP as EMBEDDER_GROUP
from assay.errors import AssayError
from assay.ingest.readers import READERS
from assay.ingest.triples import GROUP as TRIPLES_GROUP
from assay.rerank import RERANKERS
from assay.score import SCORERS
from assay.select import SELECTORS

OWN = "assay"
_TABLES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "leg": (GROUPS["leg"], TABLES["leg"]),
    "source": (GROUPS["source"], TABLES["source"]),
    "trigger": (GROUPS["trigger"], TABLES["trigger"]),
    "fuser": (GROUPS["fuser"], TABLES["fuser"]),
    "stage": ("", {**RERANKERS, **SCORERS}),
    "selector": ("", SELECTORS),
    "step": (GROUPS["step"], {}),
    "packer": (GROUPS["packer"], TABLES["packer"]),
    "embedder": (EMBEDDER_GROUP, EMBEDDERS),
    "reader": ("assay.readers", READERS),
    "triples reader": (TRIPLES_GROUP, {}),
    "backend": (addresses.ENTRY_POINT_GROUP, addresses.BACKENDS),
}
"""Kind -> (entry point group, Assay's own names). A plug-in's step is a stage or a selector, as its methods say."""


@dataclass(frozen=True, slots=True)
class ComponentInfo:
    """One component. `origin` is "assay" or the distribution that brings it; `trouble` says why it cannot be used."""

    kind: str
    name: str
    about: str
    origin: str
    place: str
    """module:attribute."""
    trouble: str = ""


def list_components() -> list[ComponentInfo]:
    """Every component, by kind, Assay's own first, then by name. One that cannot be loaded says why."""
    found = [info for kind, (group, table) in _TABLES.items() for info in _list_kind(kind, group, table)]
    kinds = list(_TABLES)
    return sorted(found, key=lambda info: (kinds.index(info.kind), info.origin != OWN, info.name, info.origin))


def _list_kind(kind: str, group: str, table: Mapping[str, str]) -> Iterator[ComponentInfo]:
    for name, place in table.items():
        yield _describe(kind, name, OWN, EntryPoint(name, place, group))
    names = {**RERANKERS, **SCORERS, **SELECTORS} if kind == "step" else table
    for point in entry_points(group=group) if group else ():
        origin = point.dist.name if point.dist else "unknown"
        trouble = f"{OWN} has a {kind} of this name, which is used instead" if point.name in names else ""
        yield _describe(kind, point.name, origin, point, trouble)


def _describe(kind: str, name: str, origin: str, point: EntryPoint, trouble: str = "") -> ComponentInfo:
    try:
        component = point.load()
    except Exception as error:  # a plug-in may fail in any way; the list goes on
        reason = error.message if isinstance(error, AssayError) else str(error).partition("\n")[0]
        why = f"cannot be loaded: {type(error).__name__}: {reason}".rstrip(": ")
        return ComponentInfo(kind, name, "", origin, point.value, why)
    if kind == "step":
        kind = "selector" if hasattr(component, "select") else "stage"
    return ComponentInfo(kind, name, first_sentence(component), origin, point.value, trouble)


def first_sentence(component: Any) -> str:
    """The first sentence about a component, on one line: a class has its docstring, a factory that of its module."""
    described = component if inspect.isroutine(component) or inspect.isclass(component) else type(component)
    module = sys.modules.get(described.__module__)
    texts = [_own_text(described), _own_text(module)]
    text = next(filter(None, texts if inspect.isclass(component) else reversed(texts)), "")
    paragraph = " ".join(text.partition("\n\n")[0].split())
    return re.split(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)\s|:$", paragraph, maxsplit=1)[0]


def _own_text(described: Any) -> str:
    """A docstring, without the signature that a dataclass writes where its author wrote nothing."""
    text = inspect.cleandoc(getattr(described, "__doc__", None) or "")
    return "" if text.startswith(f"{getattr(described, '__name__', '')}(") else text
