"""Text to unit vectors: loads the embedder that a spec names.

| spec | what |
|---|---|
| `none` | no vectors; search is lexical, and says so |
| `minilm` | all-MiniLM-L6-v2 in int8, the default once `assay model install` has run |
| `minilm-exact` | the same weights in float32 |
| `gte-small` | gte-small in int8, better and slower; `assay model install gte-small` |
| `onnx:/path/to/folder` | a local sentence encoder in ONNX form with its tokenizer.json |
| `http:https://host/v1#model-name` | an OpenAI-compatible server; its key in the environment variable ASSAY_EMBED_KEY |

Plug-ins add names through the entry point group `assay.embedders`: a callable that takes the text after the colon
(possibly empty) and returns an Embedder. Such code is loaded only when a spec names it.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from assay.embed.installed_models import find_model
from assay.embed.model_cache import ModelCache
from assay.errors import ConfigError, nearest
from assay.protocols import Embedder

EMBEDDERS: Mapping[str, str] = MappingProxyType(
    {
        "gte-small": "assay.embed.bert:open_gte_small",
        "http": "assay.embed.http:from_spec",
        "minilm": "assay.embed.bert:open_minilm",
        "minilm-exact": "assay.embed.bert:open_minilm_exact",
        "onnx": "assay.embed.onnx:from_spec",
    }
)
GROUP = "assay.embedders"

_models = ModelCache()


def load(spec: str) -> Embedder | None:
    """Return the embedder that a spec names; None for `none`. ConfigError for an unknown name, listing the known ones.

    A local model that is open in this process and whose files have not changed is returned again (`model_cache`).
    """
    name, _, argument = spec.partition(":")
    if spec == "none":
        return None
    if name in EMBEDDERS:
        return _load_own(name, argument)
    from importlib.metadata import entry_points  # 50 ms that the names above need not pay

    plugins = entry_points(group=GROUP)
    for entry in plugins.select(name=name):
        embedder: Embedder = entry.load()(argument)
        return embedder
    raise ConfigError(f"no embedder is called {name!r}", nearest(name, {"none", *EMBEDDERS, *plugins.names}))


def _load_own(name: str, argument: str) -> Embedder:
    """Open one of the embedders above, or return it from the cache where its module has a `fingerprint`."""
    path, _, function = EMBEDDERS[name].partition(":")
    module = import_module(path)
    factory = getattr(module, function)
    fingerprint = module.fingerprint(name, argument) if hasattr(module, "fingerprint") else None
    if fingerprint is None:
        embedder: Embedder = factory(argument)
        return embedder
    return _models.get((factory, name, argument, fingerprint), lambda: factory(argument))


def default_spec() -> str:
    """Return `minilm` where it is installed, else `gte-small` where that is, else `none`."""
    return next((name for name in ("minilm", "gte-small") if find_model(name)), "none")
