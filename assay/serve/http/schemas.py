"""The requests that several routes take and the shapes of answers, as the OpenAPI description shows them.

Requests are checked against these types. Answers are not: the library makes them, and their types document them.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

MAX_TEXT = 10_000
MAX_K = 1_000
MAX_BUDGET = 100_000
MAX_BUDGET_MS = 600_000
MAX_TOML = 100_000
MAX_BATCH = 256
MAX_PAGE = 500

Text = Annotated[str, Field(max_length=MAX_TEXT, description="The question.")]
Moment = Annotated[str, Field(min_length=1, max_length=64)]
Name = Annotated[str, Field(min_length=1, max_length=200)]


class RequestModel(BaseModel):
    """Base class: strict, no unknown fields."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class SearchSettings(RequestModel):
    """Everything that a search takes beside its text."""

    k: Annotated[int, Field(ge=1, le=MAX_K)] | None = Field(
        None, description="How many results; default: the pipeline's k."
    )
    pipeline: Name | None = Field(None, description="The name of a pipeline, see /pipelines; default: default.")
    pipeline_toml: Annotated[str, Field(min_length=1, max_length=MAX_TOML)] | None = Field(
        None, description="A pipeline as TOML, instead of a name."
    )
    where: Annotated[str, Field(min_length=1, max_length=MAX_TEXT)] | None = Field(
        None, description='Only chunks for which this holds: lang = "en" and created >= 2025-01-01.'
    )
    at: Moment | None = Field(None, description="The scoring clock, an ISO date; hides chunks created later.")
    since: Moment | None = Field(None, description="Only created since then: 2026-03-01, 'last week'.")
    until: Moment | None = Field(None, description="Only created until then, its day included.")
    scope: Name | None = Field(None, description="Only chunks of this scope.")
    snapshot: Name | None = Field(None, description="Read the store as it was at a version (v12) or tag.")
    budget: Annotated[int, Field(ge=1, le=MAX_BUDGET)] | None = Field(
        None, description="Also pack a context of at most so many tokens."
    )
    budget_ms: Annotated[float, Field(gt=0, le=MAX_BUDGET_MS)] | None = Field(
        None, description="The time that legs and steps may take; what is late is left out and named in the trace."
    )
    sort: Literal["relevance", "recency", "importance"] = Field(
        "relevance", description="The order of the best results."
    )
    abstain: bool | None = Field(None, description="Withhold the results of a question that is judged impossible.")


class SearchRequest(SearchSettings):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"text": "how do I rotate the signing key?", "k": 5},
                {"text": "key rotation", "pipeline": "rrf", "where": 'lang = "en"', "budget": 400},
            ]
        }
    )
    text: Text


class BatchRequest(SearchSettings):
    model_config = ConfigDict(json_schema_extra={"examples": [{"texts": ["key rotation", "tea kitchen"], "k": 3}]})
    texts: Annotated[list[Text], Field(min_length=1, max_length=MAX_BATCH)]


class ExplainRequest(SearchSettings):
    """Give `id`, a chunk's id or a unique beginning, or `document`, a document's name."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"text": "key rotation", "document": "handbook/keys.md"}]}
    )
    text: Text
    id: Name | None = None
    document: Annotated[str, Field(min_length=1, max_length=1_000)] | None = None


class CompareRequest(RequestModel):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"text": "key rotation", "a": {"pipeline": "bm25"}, "b": {"pipeline": "rrf"}}]}
    )
    text: Text
    a: SearchSettings
    b: SearchSettings


class Problem(BaseModel):
    """An error (RFC 9457), with what cures it."""

    type: str
    title: str
    status: int
    detail: str
    cure: str | None
    request_id: str | None
    errors: list[dict[str, Any]] | None = None


class HitShape(BaseModel):
    rank: int
    score: float
    id: str
    doc_id: str
    title: str
    section: str
    text: str
    tokens: int
    created: float | None
    importance: float
    meta: dict[str, Any]
    why: list[dict[str, Any]] = Field(description="The score as a sum: its parts, in order, with the score after each.")


class StatusShape(BaseModel):
    word: str
    found: int
    degraded: list[str]
    remarks: list[str]


class AnswerShape(BaseModel):
    """An answer; every key is described in docs/reference/answer.md."""

    query: dict[str, Any]
    status: StatusShape
    answerability: dict[str, Any] | None
    hits: list[HitShape]
    trace: list[dict[str, Any]]
    legs: list[dict[str, Any]]
    context: dict[str, Any] | None = None
    digests: dict[str, str]
    pipeline: str = Field(description="The name of the pipeline.")
    version: int | None = Field(description="The version of the store that was searched.")
    searched: int = Field(description="How many chunks it holds.")
    ms: float = Field(description="What the search took in the engine.")


PROBLEMS: dict[int | str, dict[str, Any]] = {
    "4XX": {
        "description": "The request is wrong, or not permitted; the cure says what to do.",
        "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
    },
    "503": {
        "description": "As many requests wait as may; nothing ran. Retry-After says when to try again.",
        "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
    },
}
"""The errors of every route, for its description."""
