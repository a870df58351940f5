"""The rerank providers, one row each: where, which model, where its key is, what is sent, what comes back.

Adding one is a row of PROVIDERS, with a Wire of its own where no present one fits (docs/rerankers.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from assay.rerank.providers.answer import Pairs, ScoreScale, listed

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ProviderFormat:
    """One format on the wire: `body(model, query, texts)` is sent as JSON, `read(answer)` gives (index, score) pairs.

    The key travels in the header `key_header`, after `key_prefix`; `headers` go along with every request. An empty
    model is left out of the body, so that a server of one model need not know its name.
    """

    body: Callable[[str, str, list[str]], Body]
    read: Callable[[Any], Pairs]
    key_header: str = "Authorization"
    key_prefix: str = "Bearer "
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Provider:
    """A row of the table. `wire` is None for the one that runs in this process.

    `key_env` names the environment variable of its key. Without a key, one that needs it is not asked. A request holds
    at most `at_once` texts (0: all of them); more are sent in several.
    """

    about: str
    url: str = ""
    model: str = ""
    key_env: str = ""
    needs_key: bool = True
    at_once: int = 0
    scale: ScoreScale = "unit"
    wire: ProviderFormat | None = None


def _named(model: str) -> Body:
    return {"model": model} if model else {}


def _jina(model: str, query: str, texts: list[str]) -> Body:
    return _named(model) | {"query": query, "documents": texts, "top_n": len(texts), "return_documents": False}


def _cohere(model: str, query: str, texts: list[str]) -> Body:
    return _named(model) | {"query": query, "documents": texts, "top_n": len(texts)}


def _voyage(model: str, query: str, texts: list[str]) -> Body:
    return _named(model) | {"query": query, "documents": texts, "top_k": len(texts), "truncation": True}


def _pinecone(model: str, query: str, texts: list[str]) -> Body:
    documents = [{"text": text} for text in texts]
    return _named(model) | {
        "query": query,
        "documents": documents,
        "top_n": len(texts),
        "return_documents": False,
        "parameters": {"truncate": "END"},
    }


def _dashscope(model: str, query: str, texts: list[str]) -> Body:
    return _named(model) | {
        "input": {"query": query, "documents": texts},
        "parameters": {"top_n": len(texts), "return_documents": False},
    }


def _tei(_: str, query: str, texts: list[str]) -> Body:
    return {"query": query, "texts": texts, "raw_scores": False, "truncate": True}


JINA = ProviderFormat(_jina, listed("results"))
COHERE = ProviderFormat(_cohere, listed("results"))
VOYAGE = ProviderFormat(_voyage, listed("data"))
PINECONE = ProviderFormat(
    _pinecone,
    listed("data", score="score"),
    key_header="Api-Key",
    key_prefix="",
    headers=MappingProxyType({"X-Pinecone-Api-Version": "2025-04"}),
)
DASHSCOPE = ProviderFormat(_dashscope, listed("output", "results"))
TEI = ProviderFormat(_tei, listed(score="score"))

PROVIDERS: Mapping[str, Provider] = MappingProxyType(
    {
        "jina": Provider(
            about="Jina AI, the default of 002",
            url="https://api.jina.ai/v1/rerank",
            model="jina-reranker-v3",
            key_env="JINA_API_KEY",
            wire=JINA,
        ),
        "siliconflow": Provider(
            about="SiliconFlow",
            url="https://api.siliconflow.com/v1/rerank",
            model="BAAI/bge-reranker-v2-m3",
            key_env="SILICONFLOW_API_KEY",
            wire=JINA,
        ),
        "pinecone": Provider(
            about="Pinecone inference",
            url="https://api.pinecone.io/rerank",
            model="bge-reranker-v2-m3",
            key_env="PINECONE_API_KEY",
            wire=PINECONE,
        ),
        "voyage": Provider(
            about="Voyage AI",
            url="https://api.voyageai.com/v1/rerank",
            model="rerank-2.5",
            key_env="VOYAGE_API_KEY",
            wire=VOYAGE,
        ),
        "cohere": Provider(
            about="Cohere, version 2 of its interface",
            url="https://api.cohere.com/v2/rerank",
            model="rerank-v4.0-fast",
            key_env="COHERE_API_KEY",
            wire=COHERE,
        ),
        "dashscope": Provider(
            about="Alibaba Cloud Model Studio",
            url="https://dashscope.aliyuncs.com/api/v1/services/rerank/text-rerank/text-rerank",
            model="gte-rerank-v2",
            key_env="DASHSCOPE_API_KEY",
            wire=DASHSCOPE,
        ),
        "tei": Provider(
            about="text-embeddings-inference on a machine of yours",
            url="http://127.0.0.1:8080/rerank",
            key_env="TEI_API_KEY",
            needs_key=False,
            at_once=32,  # the server's own default; it refuses a request with more
            wire=TEI,
        ),
        "jina_shaped": Provider(
            about='any server that speaks Jina\'s format: vLLM, Infinity, llama.cpp (`scale = "logit"`), LocalAI',
            url="http://127.0.0.1:8000/v1/rerank",
            key_env="RERANK_API_KEY",
            needs_key=False,
            wire=JINA,
        ),
        "local": Provider(
            about="late interaction in this process: no key, no network",
            model="minilm",
            needs_key=False,
        ),
    }
)
