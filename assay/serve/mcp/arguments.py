"""The argument types of the tools: hosts get them as input schemas, and every call is checked against its own.

Checking is strict: "5" is no number, and an unknown argument is an error that names the nearest known one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from assay.errors import QueryError, nearest
from assay.memory.types import CATEGORIES

MAX_TEXT = 100_000
MAX_QUERY = 10_000
MAX_LABEL = 100
MAX_BUDGET = 100_000
MAX_TAGS = 64
MAX_PROBLEMS = 5
"""Problems listed in one error."""

Text = Annotated[str, Field(min_length=1, max_length=MAX_TEXT)]
Question = Annotated[str, Field(min_length=1, max_length=MAX_QUERY)]
Id = Annotated[str, Field(min_length=1, max_length=200, description="A memory's id, or a beginning only it has.")]
Label = Annotated[str, Field(min_length=1, max_length=MAX_LABEL)]
Tags = Annotated[list[Label], Field(max_length=MAX_TAGS)]
Scope = Annotated[str, Field(min_length=1, max_length=200)]
Date = Annotated[str, Field(min_length=1, max_length=64)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
_CATEGORY = f"One of {', '.join(CATEGORIES)}, or a word of your own."
_SCOPE = "Only this scope. Default: every scope this server may reach."
_DATE = "ISO 8601, e.g. 2026-03-01 or 2026-03-01T09:30:00Z."


class ToolArguments(BaseModel):
    """Base class: strict, no unknown arguments."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class StoreArguments(ToolArguments):
    text: Text = Field(description="One self-contained statement, with names and dates instead of 'he' and 'today'.")
    scope: Scope | None = Field(None, description="Where to keep it. Default: the first scope of this server.")
    category: Label = Field("fact", description=f"What it is about. {_CATEGORY}")
    importance: Share = Field(0.7, description="0 (trivia) to 1 (must never be lost); raises its rank.")
    tags: Tags = Field(default_factory=list, description="Words to filter by later.")
    created: Date | None = Field(None, description=f"When it became true; default now. {_DATE}")
    expires: Date | None = Field(None, description=f"When to stop recalling it; default never. {_DATE}")
    supersedes: Annotated[list[Id], Field(max_length=MAX_TAGS)] = Field(
        default_factory=list, description="Ids of memories in the same scope that this one takes the place of."
    )
    on_duplicate: Literal["skip", "merge", "supersede", "force"] = Field(
        "skip",
        description="When a memory already says this: leave it (skip), enrich it (merge), replace it (supersede), "
        "or store beside it (force).",
    )


class RecallArguments(ToolArguments):
    query: Question = Field(description="What you want to know, in plain words.")
    limit: int = Field(5, ge=1, le=50, description="How many memories at most.")
    category: Label | None = Field(None, description=f"Only this category. {_CATEGORY}")
    tags: Tags = Field(default_factory=list, description="Only memories that have all of these tags.")
    at: Date | None = Field(None, description=f"Recall as of this moment; default now. {_DATE}")
    adaptive: bool = Field(
        False, description="True when the query is a user's message as it came: small talk is then not looked up."
    )
    budget: int | None = Field(
        None, ge=1, le=MAX_BUDGET, description="Also pack a `context` of at most so many tokens, with citations."
    )
    scope: Scope | None = Field(None, description=_SCOPE)


class ForgetArguments(ToolArguments):
    id: Id | None = Field(None, description="Forget this memory: its id, or a beginning only it has.")
    query: Question | None = Field(None, description="Forget what this query recalls; asks for confirmation first.")
    confirm: Annotated[str, Field(max_length=200)] | None = Field(
        None, description="The token from the first call, to forget exactly what it showed."
    )
    limit: int = Field(5, ge=1, le=50, description="With `query`: how many memories at most.")
    purge: bool = Field(
        False, description="Also erase the text from every version, index and known backup. It cannot be undone."
    )
    scope: Scope | None = Field(None, description=_SCOPE)


class UpdateArguments(ToolArguments):
    id: Id
    text: Text | None = Field(None, description="The new text.")
    category: Label | None = Field(None, description=f"The new category. {_CATEGORY}")
    importance: Share | None = Field(None, description="The new importance, 0 to 1.")
    tags: Tags | None = Field(None, description="The new tags, all of them.")
    expires: Date | None = Field(None, description=f"The new moment to stop recalling it. {_DATE}")
    never_expires: bool = Field(False, description="True takes the expiry away.")
    scope: Scope | None = Field(None, description=_SCOPE)


class ListArguments(ToolArguments):
    category: Label | None = Field(None, description=f"Only this category. {_CATEGORY}")
    tags: Tags = Field(default_factory=list, description="Only memories that have all of these tags.")
    at: Date | None = Field(None, description=f"As of this moment; default now. {_DATE}")
    limit: int = Field(50, ge=1, le=200, description="How many on this page at most.")
    offset: int = Field(0, ge=0, le=1_000_000, description="How many to pass over.")
    everything: bool = Field(False, description="True also shows superseded and expired memories.")
    scope: Scope | None = Field(None, description=_SCOPE)


class StatsArguments(ToolArguments):
    at: Date | None = Field(None, description=f"As of this moment; default now. {_DATE}")
    scope: Scope | None = Field(None, description=_SCOPE)


class ExplainArguments(ToolArguments):
    query: Question = Field(description="The query to explain it for, as you asked it.")
    id: Id
    limit: int = Field(5, ge=1, le=50, description="The limit you asked with: what is below it was not recalled.")
    at: Date | None = Field(None, description=f"As of this moment; default now. {_DATE}")
    scope: Scope | None = Field(None, description=_SCOPE)


A = TypeVar("A", bound=ToolArguments)


def check_arguments(tool: str, arguments_type: type[A], arguments: Mapping[str, Any]) -> A:
    """The arguments of a call as their type; QueryError says what is wrong with each."""
    try:
        return arguments_type.model_validate(dict(arguments))
    except ValidationError as error:
        problems = list(dict.fromkeys(_describe_problems(error, arguments_type)))[:MAX_PROBLEMS]
        names = ", ".join(arguments_type.model_fields)
        raise QueryError(f"{tool}: {'; '.join(problems)}", f"{tool} takes: {names}") from None


def _describe_problems(error: ValidationError, arguments_type: type[ToolArguments]) -> Iterator[str]:
    """One sentence each. The value is never repeated: it may be long, and it may be private."""
    for problem in error.errors(include_url=False, include_context=False, include_input=False):
        name = ".".join(str(step) for step in problem["loc"])[:60]
        if problem["type"] == "extra_forbidden":
            yield f"there is no argument {name!r} ({nearest(name, arguments_type.model_fields)})"
        elif problem["type"] == "missing":
            yield f"{name} must be given"
        else:
            yield f"{name}: {problem['msg'][:1].lower()}{problem['msg'][1:]}"
