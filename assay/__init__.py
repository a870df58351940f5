"""Assay: hybrid retrieval that explains every answer and proves every change.

import assay
kb = assay.open("./kb")
kb.add("./handbook")
for hit in kb.search("how do I rotate the signing key?", k=5):
    print(hit.rank, hit.score, hit.title, hit.text, hit.why())

The names in `__all__` are the public API (docs/api.md); component authors use `assay.plugins` and `assay.testing`. All
other modules are internal and may change.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay import memory as memory
    from assay import plugins as plugins
    from assay.config.load import load as load_pipeline
    from assay.engine.answer import Answer, Hit
    from assay.engine.answerability import Answerability
    from assay.engine.context import PackedContext
    from assay.engine.explanation import Explanation
    from assay.engine.pipeline import Pipeline
    from assay.engine.trace import ChunkStep, Degradation, Span, Status
    from assay.errors import (
        AssayError,
        BadFile,
        BadRecord,
        ConfigError,
        LawBroken,
        MissingExtra,
        ModelError,
        OutOfTime,
        QueryError,
        Reason,
        StoreBusy,
        StoreError,
    )
    from assay.ingest.add_report import AddReport
    from assay.kb import KnowledgeBase, open
    from assay.types import Chunk

__version__ = "0.1.0"
__all__ = [
    "AddReport",
    "Answer",
    "Answerability",
    "AssayError",
    "BadFile",
    "BadRecord",
    "Chunk",
    "ChunkStep",
    "ConfigError",
    "Degradation",
    "Explanation",
    "Hit",
    "KnowledgeBase",
    "LawBroken",
    "MissingExtra",
    "ModelError",
    "OutOfTime",
    "PackedContext",
    "Pipeline",
    "QueryError",
    "Reason",
    "Span",
    "Status",
    "StoreBusy",
    "StoreError",
    "__version__",
    "load_pipeline",
    "memory",
    "open",
    "plugins",
]

_MODULES = {
    **dict.fromkeys(("Answer", "Hit"), "assay.engine.answer"),
    **dict.fromkeys(("KnowledgeBase", "open"), "assay.kb"),
    **dict.fromkeys(("ChunkStep", "Degradation", "Span", "Status"), "assay.engine.trace"),
    "AddReport": "assay.ingest.add_report",
    "Explanation": "assay.engine.explanation",
    "PackedContext": "assay.engine.context",
    "Answerability": "assay.engine.answerability",
    "Chunk": "assay.types",
    "Pipeline": "assay.engine.pipeline",
}
_ALIASES = {"load_pipeline": ("assay.config.load", "load")}
_SUBMODULES = ("memory", "plugins")


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: `import assay` itself costs nothing."""
    if name in _SUBMODULES:
        return import_module(f"assay.{name}")
    if name not in __all__:
        raise AttributeError(f"module 'assay' has no attribute {name!r}")
    module, attribute = _ALIASES.get(name, (_MODULES.get(name, "assay.errors"), name))
    value = globals()[name] = getattr(import_module(module), attribute)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
