"""Text to unit vectors: which embedder does a spec name?

| spec | what |
|---|---|
| `none` | no vectors; search is lexical, and says so |
| `minilm` | all-MiniLM-L6-v2 in int8, the default once `assay model install` has run |
| `minilm-exact` | the same weights in float32 |
| `onnx:/path/to/folder` | a local sentence encoder in ONNX form with its tokenizer.json |
| `http:https://host/v1#model-name` | an OpenAI-compatible server; its key in the environment variable ASSAY_EMBED_KEY |

Others may add names through the entry point group `assay.embedders`: a callable that takes what stands after
the colon (a string, possibly empty) and returns an Embedder. Such code is loaded only when a spec names it.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from assay.embed.installed import find
from assay.errors import ConfigError, nearest
from assay.protocols import Embedder

EMBEDDERS: Mapping[str, str] = MappingProxyType(
    {
        "http": "assay.embed.http:from_spec",
        "minilm": "assay.embed.minilm:int8",
        "minilm-exact": "assay.embed.minilm:exact",
        "onnx": "assay.embed.onnx:from_spec",
    }
)
GROUP = "assay.embedders"


def load(spec: str) -> Embedder | None:
    """The embedder that a spec names; None for `none`. ConfigError for an unknown name, listing the known ones."""
    name, _, argument = spec.partition(":")
    if spec == "none":
        return None
    if name in EMBEDDERS:
        module, _, factory = EMBEDDERS[name].partition(":")
        embedder: Embedder = getattr(import_module(module), factory)(argument)
        return embedder
    from importlib.metadata import entry_points  # 50 ms that the names above need not pay

    others = entry_points(group=GROUP)
    for entry in others.select(name=name):
        found: Embedder = entry.load()(argument)
        return found
    raise ConfigError(f"no embedder is called {name!r}", nearest(name, {"none", *EMBEDDERS, *others.names}))


def default_spec() -> str:
    """`minilm` where it is installed, else `none`."""
    return "minilm" if find("minilm") else "none"
