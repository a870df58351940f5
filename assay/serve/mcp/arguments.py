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
Id = Annotated[str, Field(min_length=1, max_length=200, description="Id of a memory, or a unique beginning.")]
Label = Annotated[str, Field(min_length=1, max_length=MAX_LABEL)]
Tags = Annotated[list[Label], Field(max_length=MAX_TAGS)]
Scope = Annotated[str, Field(min_length=1, max_length=200)]
Date = Annotated[str, Field(min_length=1, max_length=64)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
_SCOPE = "Only this scope; default all."
_DATE = "ISO date"
_SINCE = "ISO date or 'last week', 'in May'."
_UNTIL = "As since."


class ToolArguments(BaseModel):
    """Base class: strict, no unknown arguments. Descriptions are short: every host pays for them in every request."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class StoreArguments(ToolArguments):
    text: Text = Field(description="One self-contained statement; no 'he', no 'today'.")
    scope: Scope | None = Field(None, description="Where to keep it; default the first.")
    category: Label = Field("fact", description=f"{', '.join(CATEGORIES)}, or your own.")
    importance: Share = Field(0.7, description="0 trivia to 1 vital.")
    tags: Tags = Field(default_factory=list, description="To filter by later.")
    created: Date | None = Field(None, description=_DATE)
    expires: Date | None = Field(None, description=_DATE)
    supersedes: Annotated[list[Id], Field(max_length=MAX_TAGS)] = Field(
        default_factory=list, description="Ids it replaces."
    )
    on_duplicate: Literal["skip", "merge", "supersede", "force"] = Field("skip", description="If already known.")


class RecallArguments(ToolArguments):
    query: Question = Field(description="What you want to know.")
    limit: int = Field(5, ge=1, le=50, description="At most.")
    category: Label | None = Field(None, description="Only this category.")
    tags: Tags = Field(default_factory=list, description="Only with all these tags.")
    since: Date | None = Field(None, description=_SINCE)
    until: Date | None = Field(None, description=_UNTIL)
    at: Date | None = Field(None, description=f"As of this {_DATE}; default now.")
    adaptive: bool = Field(False, description="Skips small talk.")
    budget: int | None = Field(None, ge=1, le=MAX_BUDGET, description="Also packs a context of so many tokens.")
    details: bool = Field(False, description="Scores and reasons as JSON.")
    scope: Scope | None = Field(None, description=_SCOPE)


class ForgetArguments(ToolArguments):
    id: Id | None = Field(None, description="Forget this one.")
    query: Question | None = Field(None, description="Or what this recalls; asks to confirm.")
    confirm: Annotated[str, Field(max_length=200)] | None = Field(None, description="The token.")
    limit: int = Field(5, ge=1, le=50, description="With query: at most.")
    purge: bool = Field(False, description="Erase for good.")
    scope: Scope | None = Field(None, description=_SCOPE)


class MemoryPatch(ToolArguments):
    text: Text | None = Field(None, description="New text.")
    category: Label | None = Field(None, description="New category.")
    importance: Share | None = Field(None, description="New importance.")
    tags: Tags | None = Field(None, description="All new tags.")
    expires: Date | None = Field(None, description=f"New expiry; {_DATE}.")
    never_expires: bool = Field(False, description="Remove the expiry.")
    scope: Scope | None = Field(None, description=_SCOPE)


class UpdateArguments(MemoryPatch):
    id: Id


class ListArguments(ToolArguments):
    category: Label | None = Field(None, description="Only this category.")
    tags: Tags = Field(default_factory=list, description="Only with all these tags.")
    since: Date | None = Field(None, description=_SINCE)
    until: Date | None = Field(None, description=_UNTIL)
    at: Date | None = Field(None, description=f"As of this {_DATE}.")
    limit: int = Field(50, ge=1, le=200, description="Per page.")
    offset: int = Field(0, ge=0, le=1_000_000, description="To pass over.")
    everything: bool = Field(False, description="Superseded and expired too.")
    scope: Scope | None = Field(None, description=_SCOPE)


class StatsArguments(ToolArguments):
    at: Date | None = Field(None, description=f"As of this {_DATE}.")
    scope: Scope | None = Field(None, description=_SCOPE)


class ExplainArguments(ToolArguments):
    query: Question = Field(description="As you asked it.")
    id: Id
    limit: int = Field(5, ge=1, le=50, description="As you asked it.")
    at: Date | None = Field(None, description=f"As of this {_DATE}.")
    scope: Scope | None = Field(None, description=_SCOPE)


class SearchArguments(ToolArguments):
    query: Question = Field(description="What you want to know.")
    limit: int = Field(5, ge=1, le=50, description="At most.")
    since: Date | None = Field(None, description=_SINCE)
    until: Date | None = Field(None, description=_UNTIL)


class GetArguments(ToolArguments):
    id: Annotated[str, Field(min_length=1, max_length=1_000)] = Field(description="From search, or a document's name.")
    offset: int = Field(0, ge=0, le=1_000_000_000, description="Where to go on.")


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
