"""The result types of the tools: hosts get them as output schemas, and every result is checked against its own."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Moment = Annotated[str, Field(description="ISO 8601, with its offset from UTC")]


class ToolResult(BaseModel):
    """Base class. Other fields of the service's answer are left out, so that a result stays short."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class MemoryResult(ToolResult):
    """One memory as it stands."""

    id: str
    text: str
    scope: str
    category: str
    importance: float = Field(description="0 to 1")
    tags: list[str]
    created: Moment
    updated: Moment
    expires: Moment | None = Field(description="the first moment at which it is no longer recalled")
    supersedes: list[str] = Field(description="ids of the memories it took the place of")
    superseded_by: str | None = Field(description="id of the memory that took its place")


class NearResult(ToolResult):
    """A memory much like the text that was to be stored."""

    id: str
    text: str
    cosine: float | None = Field(description="likeness of meaning, -1 to 1; null where the store has no model")
    overlap: float = Field(description="share of terms that both texts have, 0 to 1")
    duplicate: bool = Field(description="true when it says the same")
    why: str


class ConflictResult(ToolResult):
    """A known memory that the new one may replace."""

    id: str
    text: str
    why: str


class StoreResult(ToolResult):
    """What became of the text."""

    id: str | None = Field(description="the memory that now holds the text; null when it was refused")
    action: Literal["stored", "skipped", "merged", "superseded", "refused"]
    reason: str
    conflicts: list[ConflictResult] = Field(description="memories that it may replace: store it with `supersedes`")
    near: list[NearResult] = Field(description="memories much like it, which decided the action")
    memory: MemoryResult | None


class StatusResult(ToolResult):
    """How far the result can be trusted."""

    word: str = Field(description="answered, nothing found, all dropped, degraded or skipped, among others")
    found: int = Field(description="candidates found; nothing is known only where this is 0")
    served: int
    dropped: dict[str, int] = Field(description="how many candidates each step took away")
    degraded: list[str] = Field(description="what could not run, and why; the result was made without it")


class AnswerabilityResult(ToolResult):
    """Whether the memories can answer the question."""

    word: Literal["answerable", "impossible"]
    kind: Literal["listing", "diff", "long_evidence", "out_of_scope"] | None
    why: str


class RecalledMemoryResult(ToolResult):
    """One recalled memory at its rank."""

    rank: int
    score: float
    memory: MemoryResult
    served_for: str | None = Field(description="id of a superseded memory that was found in its place")
    why: str = Field(description="the score as a sum")


class RangeResult(ToolResult):
    """A period."""

    since: Moment | None
    until: Moment | None
    words: str | None = Field(description="the words of the query; such a range raises memories and excludes none")


class ContextSourceResult(ToolResult):
    """A memory that the context cites."""

    citation: int = Field(description="the rank of the memory in `hits`")
    id: str = Field(description="the chunk that is quoted")
    header: str


class ContextResult(ToolResult):
    """The sentences that fit into the token budget, with citations, ready for a prompt."""

    text: str
    tokens: int = Field(description="of the whole text, headers and citations included")
    budget: int
    sources: list[ContextSourceResult]
    notes: list[str] = Field(description="what did not go as planned, for example that nothing fits")


class RecallResult(ToolResult):
    """What a recall gave, best first."""

    query: str
    status: StatusResult
    skipped: str | None = Field(description="why nothing was looked up; null when something was")
    answerability: AnswerabilityResult | None = Field(description="impossible: the hits may not answer it, see why")
    silence: str | None = Field(description="why there is no memory; null when there is one")
    at: Moment | None = Field(description="the clock")
    range: RangeResult | None = Field(description="the period that was asked for")
    hits: list[RecalledMemoryResult]
    notes: list[str] = Field(description="what was served in the place of superseded memories, and what was not")
    remarks: list[str] = Field(description="what the steps say of themselves: who reranked, what was dropped and why")
    context: ContextResult | None = Field(None, description="null when no budget was given")


class ForgetResult(ToolResult):
    """What was forgotten, or what would be."""

    done: bool = Field(description="false: nothing happened yet, call again with `confirm` set to `token`")
    memories: list[MemoryResult]
    token: str | None
    purged: bool
    erased: list[str] = Field(description="after a purge: every place the text was removed from")
    unreached: list[str] = Field(description="after a purge: every place where the text may still be")


class ListResult(ToolResult):
    """One page of memories."""

    memories: list[MemoryResult]
    offset: int
    more: bool = Field(description="true when there are memories beyond this page")


class StatsResult(ToolResult):
    """Counts over the scopes this server may reach, and no others."""

    scopes: list[str]
    memories: int = Field(description="that can be recalled")
    superseded: int
    expired: int
    hidden: int = Field(description="forgotten but not purged: their text is still in the store")
    tokens: int
    by_scope: dict[str, int]
    by_category: dict[str, int]
    by_tag: dict[str, int]
    oldest: Moment | None
    newest: Moment | None


class StepResult(ToolResult):
    """What one step of the pipeline did with the memory."""

    step: str
    kind: str
    rank: int | None
    score: float | None
    why: str | None


class ExplainResult(ToolResult):
    """Why a memory stands where it stands for a query, or why it is not there."""

    memory: MemoryResult
    rank: int | None = Field(description="null: not recalled for this query")
    score: float | None
    why: str
    reasons: list[str] = Field(description="why it is missing")
    steps: list[StepResult]


class PassageResult(ToolResult):
    """One passage of a document."""

    id: str
    place: str
    text: str
    score: float


class SearchResult(ToolResult):
    """The best passages, best first."""

    hits: list[PassageResult]
    degraded: list[str] = Field(description="what could not run, and why")


class DocumentResult(ToolResult):
    """A page of a document."""

    document: str
    title: str
    text: str
    next_offset: int | None = Field(description="where the next page begins; null at the end")
