"""Assay: hybrid retrieval that proves itself.

import assay
kb = assay.open("./kb")
kb.add("./handbook")
for hit in kb.search("how do I rotate the signing key?", k=5):
    print(hit.rank, hit.score, hit.title, hit.text, hit.why())
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.engine.answer import Answer as Answer
    from assay.engine.answer import Hit as Hit
    from assay.kb import KnowledgeBase as KnowledgeBase
    from assay.kb import open as open

__version__ = "0.1.0"
__all__ = ["Answer", "Hit", "KnowledgeBase", "__version__", "open"]

_HOMES = {
    "Answer": "assay.engine.answer",
    "Hit": "assay.engine.answer",
    "KnowledgeBase": "assay.kb",
    "open": "assay.kb",
}


def __getattr__(name: str) -> Any:
    """The public names, loaded when first used: `import assay` itself costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'assay' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
