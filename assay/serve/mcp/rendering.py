"""Short texts for agents: a recall as one line per memory, and input schemas without what a model does not need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

ID_LENGTH = 8
"""Characters of an id that are shown; tools accept any unique beginning."""
PLAIN = frozenset({"limit", "offset", "category", "tags", "importance", "id", "query", "at", "scope"})
"""Arguments whose names say what they are."""
_DROPPED = frozenset(
    {"title", "description", "maxLength", "minLength", "maxItems", "minItems", "minimum", "maximum"}
    | {"additionalProperties"}
)


def render_recall(result: Mapping[str, Any]) -> str:
    """One line per memory: the beginning of its id, its day, its text; then what else an agent must know."""
    memories = [hit["memory"] for hit in result["hits"]]
    ids = _shorten([memory["id"] for memory in memories])
    lines = [f"[{name} {memory['created'][:10]}] {memory['text']}" for name, memory in zip(ids, memories, strict=True)]
    if result["skipped"]:
        lines.append(f"Not looked up: {result['skipped']}")
    if result["silence"]:
        lines.append(result["silence"])
    judgement = result["answerability"]
    if memories and judgement and judgement["word"] == "impossible":
        lines.append(f"May not be answered here: {judgement['why']}")
    if result["range"] and result["range"]["words"] is None:
        since, until = result["range"]["since"], result["range"]["until"]
        bounds = [f"from {since}"] * (since is not None) + [f"before {until}"] * (until is not None)
        lines.append(f"(created {', '.join(bounds)})")
    return "\n".join([*lines, *_group_reasons(result["status"]["degraded"])])


def _group_reasons(reasons: Sequence[str]) -> Iterator[str]:
    """Lines for "STEP skipped: WHY" without the cures, the steps of one reason together."""
    steps: dict[str, list[str]] = {}
    for reason in reasons:
        step, _, why = reason.partition("; cure")[0].partition(" ")
        steps.setdefault(why, []).append(step)
    yield from (f"degraded: {', '.join(names)} {why}" for why, names in steps.items())


def _describe(name: str, part: Mapping[str, Any]) -> dict[str, Any]:
    about = {} if name in PLAIN or "description" not in part else {"description": part["description"]}
    return {**compact_schema(part), **about}


def _shorten(ids: list[str]) -> list[str]:
    """Beginnings of ids that are different from each other."""
    length = ID_LENGTH
    while len({name[:length] for name in ids}) < len(set(ids)):
        length += 4
    return [name[:length] for name in ids]


def compact_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema without titles and limits, which calls are checked against all the same, and without "or null": an
    argument that is not required may be left out. Descriptions of PLAIN arguments, whose names say it, are left out."""
    compact: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "properties":
            compact[key] = {name: _describe(name, part) for name, part in value.items()}
        elif key == "anyOf":
            options = [option for option in value if option.get("type") != "null"]
            compact |= compact_schema(options[0]) if len(options) == 1 else {key: list(map(compact_schema, options))}
        elif key == "items":
            compact[key] = {name: part for name, part in value.items() if name == "type"}
        elif key not in _DROPPED and not (key == "default" and value in (None, False)):
            compact[key] = value
    return compact
