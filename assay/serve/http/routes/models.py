"""/v1/rerank in the shape of Cohere and Jina, /v1/embeddings in that of OpenAI: for who wants only the models."""

from __future__ import annotations

import base64
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter
from pydantic import ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from assay.serve.http.context import context_of, encode_json, json_response, needs
from assay.serve.http.schemas import RequestModel
from assay.serve.text_models import EMBEDDING, embed_text, rerank_models, score_texts
from assay.text.token_count import count_tokens
from assay.types import Vector

router = APIRouter(prefix="/v1", tags=["models"], dependencies=[needs("read")])
MAX_DOCUMENTS = 1_000
MAX_INPUTS = 256
ModelText = Annotated[str, Field(max_length=100_000)]


class RerankDocument(RequestModel):
    text: ModelText


class RerankRequest(RequestModel):
    model_config = ConfigDict(
        extra="ignore",  # clients send options of their provider (truncation, priority)
        json_schema_extra={
            "examples": [{"query": "signing key", "documents": ["Rotate the key.", "Water the plants."], "top_n": 1}]
        },
    )
    model: Annotated[str, Field(max_length=200)] = Field(
        EMBEDDING, description="embedding, late_interaction, or a model."
    )
    query: Annotated[str, Field(min_length=1, max_length=10_000)]
    documents: Annotated[list[ModelText | RerankDocument], Field(min_length=1, max_length=MAX_DOCUMENTS)]
    top_n: Annotated[int, Field(ge=1)] | None = None
    return_documents: bool = False


class EmbeddingsRequest(RequestModel):
    model_config = ConfigDict(
        extra="ignore", json_schema_extra={"examples": [{"input": ["Rotate the signing key every ninety days."]}]}
    )
    input: ModelText | Annotated[list[ModelText], Field(min_length=1, max_length=MAX_INPUTS)]
    model: Annotated[str, Field(max_length=200)] | None = Field(None, description="Ignored: the store has one model.")
    encoding_format: Literal["float", "base64"] = "float"
    input_type: Literal["query", "document"] = Field("document", description="Some models embed questions otherwise.")


@router.post("/rerank", summary="Rerank texts")
async def rerank(request: Request, body: RerankRequest) -> Response:
    """Texts in, their places by relevance out, best first; equal scores keep the order of the request."""
    context = context_of(request)
    texts = [one if isinstance(one, str) else one.text for one in body.documents]

    def work() -> dict[str, Any]:
        scores = score_texts(context.kb, body.model, body.query, texts)
        order = np.argsort(-scores, kind="stable")[: body.top_n].tolist()
        results = [
            {
                "index": place,
                "relevance_score": float(scores[place]),
                **({"document": {"text": texts[place]}} if body.return_documents else {}),
            }
            for place in order
        ]
        tokens = count_tokens(body.query) + sum(map(count_tokens, texts))
        return {
            "id": request.scope["state"]["request_id"],
            "model": body.model,
            "results": results,
            "usage": {"total_tokens": tokens},
        }

    return await context.run(work)


@router.post("/embeddings", summary="Embed texts")
async def embeddings(request: Request, body: EmbeddingsRequest) -> Response:
    """Unit vectors of the store's model. One text a call: a vector never depends on the other texts of a request."""
    context = context_of(request)
    texts = [body.input] if isinstance(body.input, str) else list(body.input)
    vectors = await context.pool.map(lambda text: embed_text(context.kb, text, body.input_type == "query"), texts)
    tokens = sum(map(count_tokens, texts))
    data = [
        {"object": "embedding", "index": place, "embedding": _encode(vector, body.encoding_format)}
        for place, vector in enumerate(vectors)
    ]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return json_response(encode_json({"object": "list", "data": data, "model": context.kb.spec, "usage": usage}))


@router.get("/models", summary="List models")
async def models(request: Request) -> Response:
    """The embedding model of the store and the rerankers that /v1/rerank takes."""
    context = context_of(request)

    def read() -> dict[str, Any]:
        embedder = [context.kb.spec] if context.kb.store.settings["dim"] else []
        rows = [{"id": name, "object": "model", "kind": "embedding"} for name in embedder]
        rows += [{"id": name, "object": "model", "kind": "rerank"} for name in rerank_models(context.kb)]
        return {"object": "list", "data": rows}

    return await context.run(read)


def _encode(vector: Vector, form: str) -> list[float] | str:
    return base64.b64encode(vector.astype("<f4").tobytes()).decode() if form == "base64" else vector.tolist()
