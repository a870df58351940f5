"""Says what is wrong with a request that does not fit the types of its route, and what the route takes instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel
from starlette.requests import Request

from assay.errors import Reason

MOST_NAMED = 3
"""Wrong fields that the detail names; the problem lists more."""


def describe_invalid(request: Request, errors: Sequence[Mapping[str, Any]]) -> Reason:
    """The detail and the cure for the errors that pydantic and FastAPI found in one request."""
    first = errors[0]
    where = tuple(first["loc"])
    if first["type"] == "json_invalid":
        said = (first.get("ctx") or {}).get("error", "it cannot be read")
        return Reason(f"the body is not JSON: {said} at character {where[-1]}", _send_json())
    model = _body_model(request)
    if where == ("body",) and first["type"] in ("model_attributes_type", "missing"):
        if "json" not in request.headers.get("content-type", ""):
            return Reason("the body is not sent as JSON", _send_json())
        return Reason("the body is not a JSON object", _takes(model))
    details = [_describe(one) for one in errors]
    more = f" and {len(details) - MOST_NAMED} more" if len(details) > MOST_NAMED else ""
    return Reason("; ".join(details[:MOST_NAMED]) + more, _cure(model, errors))


def _describe(error: Mapping[str, Any]) -> str:
    name = ".".join(str(step) for step in error["loc"][1:]) or str(error["loc"][0])
    match error["type"]:
        case "extra_forbidden":
            return f"there is no field {name!r}"
        case "missing":
            return f"{name!r} is required"
        case _:
            return f"{name}: {error['msg']}"


def _cure(model: type[BaseModel] | None, errors: Sequence[Mapping[str, Any]]) -> str:
    """The fields where the first unknown or missing one was expected, if any."""
    for error in errors:
        source, *steps = error["loc"]
        if source == "body" and steps and error["type"] in ("extra_forbidden", "missing"):
            return _takes(_inner_model(model, steps[:-1]), ".".join(str(step) for step in steps[:-1]))
    return "/openapi.json says what this route takes"


def _takes(model: type[BaseModel] | None, inside: str = "") -> str:
    if model is None:
        return "/openapi.json says what this route takes"
    fields = sorted(model.model_fields.items(), key=lambda item: not item[1].is_required())  # required ones first
    return f"{inside or 'this route'} takes: {', '.join(name for name, _ in fields)}"


def _send_json() -> str:
    return "send JSON, with the header Content-Type: application/json"


def _body_model(request: Request) -> type[BaseModel] | None:
    field = getattr(request.scope.get("route"), "body_field", None)
    return _as_model(getattr(getattr(field, "field_info", None), "annotation", None))


def _inner_model(model: type[BaseModel] | None, steps: Sequence[Any]) -> type[BaseModel] | None:
    for step in steps:
        field = model.model_fields.get(step) if model is not None else None
        model = _as_model(field.annotation if field is not None else None)
    return model


def _as_model(kind: Any) -> type[BaseModel] | None:
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None
