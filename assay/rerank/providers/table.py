"""The table of rerank providers: address, model, key variable, request and response format.

To add one, add a row to PROVIDERS, with a ProviderFormat of its own if none fits (docs/rerankers.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from assay.rerank.providers.response import ScorePairs, ScoreScale, result_reader

RequestBody = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ProviderFormat:
    """A wire format: `body(model, query, texts)` is sent as JSON, `read(response)` gives (index, score) pairs.

    The key is sent in the header `key_header`, after `key_prefix`; `headers` are sent with every request. An empty
    model is left out of the body, for servers with a single model.
    """

    body: Callable[[str, str, list[str]], RequestBody]
    read: Callable[[Any], ScorePairs]
    key_header: str = "Authorization"
    key_prefix: str = "Bearer "
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Provider:
    """A row of the table. `wire` is None for the provider that runs in this process.

    `key_env` names the environment variable of its key. A provider that needs a key is not asked without one. A request
    holds at most `max_texts` texts (0: no limit); more are sent in several requests.
    """

    about: str
    url: str = ""
    model: str = ""
    key_env: str = ""
    needs_key: bool = True
    max_texts: int = 0
    scale: ScoreScale = "unit"
    wire: ProviderFormat | None = None


def _model_field(model: str) -> RequestBody:
    return {"model": model} if model else {}


def _jina_body(model: str, query: str, texts: list[str]) -> RequestBody:
    return _model_field(model) | {"query": query, "documents": texts, "top_n": len(texts), "return_documents": False}


def _cohere_body(model: str, query: str, texts: list[str]) -> RequestBody:
    return _model_field(model) | {"query": query, "documents": texts, "top_n": len(texts)}


def _voyage_body(model: str, query: str, texts: list[str]) -> RequestBody:
    return _model_field(model) | {"query": query, "documents": texts, "top_k": len(texts), "truncation": True}


def _pinecone_body(model: str, query: str, texts: list[str]) -> RequestBody:
    documents = [{"text": text} for text in texts]
    return _model_field(model) | {
        "query": query,
        "documents": documents,
        "top_n": len(texts),
        "return_documents": False,
        "parameters": {"truncate": "END"},
    }


def _dashscope_body(model: str, query: str, texts: list[str]) -> RequestBody:
    return _model_field(model) | {
        "input": {"query": query, "documents": texts},
        "parameters": {"top_n": len(texts), "return_documents": False},
    }


def _tei_body(_: str, query: str, texts: list[str]) -> RequestBody:
    return {"query": query, "texts": texts, "raw_scores": False, "truncate": True}


JINA = ProviderFormat(_jina_body, result_reader("results"))
COHERE = ProviderFormat(_cohere_body, result_reader("results"))
VOYAGE = ProviderFormat(_voyage_body, result_reader("data"))
PINECONE = ProviderFormat(
    _pinecone_body,
    result_reader("data", score="score"),
    key_header="Api-Key",
    key_prefix="",
    headers=MappingProxyType({"X-Pinecone-Api-Version": "2025-04"}),
)
DASHSCOPE = ProviderFormat(_dashscope_body, result_reader("output", "results"))
TEI = ProviderFormat(_tei_body, result_reader(score="score"))

PROVIDERS: Mapping[str, Provider] = MappingProxyType(
    {
        "jina": Provider(
            about="Jina AI, the default of the memory pipeline",
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
            max_texts=32,  # the server's own default; it refuses a request with more
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
