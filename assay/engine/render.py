"""An answer as JSON, as a few lines of text, and as HTML for a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from assay.types import Chunk, Note

if TYPE_CHECKING:
    from assay.engine.answer import Answer, Hit

_SHOWN = 10
"""Hits that the `repr` of an answer lists."""
_TITLE = 60
_EXCERPT = 240


def answer_json(answer: Answer) -> dict[str, Any]:
    """The documented form of an answer (docs/reference/answer.md)."""
    query, judged, status = answer.query, answer.answerability, answer.status
    return {
        "query": {
            "text": query.text,
            "at": query.at,
            "where": str(query.where) if query.where else None,
            "scope": query.scope,
        },
        "status": {
            "word": status.word,
            "found": status.found,
            "degraded": list(status.degraded),
            "remarks": list(answer.remarks),
        },
        "answerability": None if judged is None else judged.to_json(),
        "hits": [hit_json(hit) for hit in answer],
        "trace": [
            {
                "step": span.name,
                "kind": span.kind,
                "candidates_in": span.candidates_in,
                "candidates_out": len(span.ranking),
                "skipped": span.skipped or None,
                "outcome": span.outcome,
                "trigger": None if span.trigger is None else span.trigger.to_json(),
                "notes": [_note_json(note) for note in span.notes],
                "ms": round(span.ms, 3),
            }
            for span in answer.trace
        ],
        "legs": [
            {"leg": one.leg, "found": one.found, "chosen": one.chosen, "alone": one.alone}
            for one in answer.contributions()
        ],
        **({} if answer.context is None else {"context": answer.context.to_json()}),
        "digests": {**answer.digests, "answer": answer.digest},
    }


def _note_json(note: Note) -> dict[str, Any]:
    line: dict[str, Any] = {"kind": note.kind, "text": str(note.reason), "ids": list(note.ids)}
    return {**line, "data": dict(note.data)} if note.data else line


def hit_json(hit: Hit) -> dict[str, Any]:
    return {
        "rank": hit.rank,
        "score": hit.score,
        **chunk_json(hit.chunk),
        "why": [
            {"part": part.name, "op": part.op, "value": part.value, "score": part.score, "rank": part.rank}
            for part in hit.waterfall
        ],
    }


def chunk_json(chunk: Chunk) -> dict[str, Any]:
    return {
        "id": chunk.id,
        "doc_id": chunk.doc_id,
        "title": chunk.title,
        "section": chunk.section,
        "text": chunk.text,
        "tokens": chunk.tokens,
        "created": None if chunk.created != chunk.created else chunk.created,
        "importance": chunk.importance,
        "meta": dict(chunk.meta),
    }


def hit_repr(hit: Hit) -> str:
    return f"Hit(rank={hit.rank}, score={hit.score:.4f}, id={hit.id!r}, title={_cut(hit.title, _TITLE)!r})"


def answer_repr(answer: Answer) -> str:
    """The status and the first hits, a line each; the texts are left out."""
    hits = answer.hits[:_SHOWN]
    lines = [f"  {hit.rank:>2}  {hit.score:.4f}  {answer.short_id(hit.id)}  {_cut(hit.title, _TITLE)}" for hit in hits]
    more = [f"  … and {len(answer) - len(hits)} more"] if len(answer) > len(hits) else []
    return "\n".join([f"Answer({_cut(answer.query.text, _TITLE)!r}: {_summary(answer)})", *lines, *more])


def answer_html(answer: Answer) -> str:
    """The hits as a table, with the part of each text that shows the query's terms, and the score as a sum."""
    rows = "".join(
        f"<tr><td>{hit.rank}</td><td>{hit.score:.4f}</td><td style='text-align:left'><b>{escape(hit.title)}</b><br>"
        f"{_marked(hit)}<br><small>{escape(hit.why())}</small></td></tr>"
        for hit in answer
    )
    problems = "".join(f"<br><small>! {escape(line)}</small>" for line in answer.status.degraded)
    return (
        f"<div><b>{escape(answer.query.text)}</b> — {escape(_summary(answer))}{problems}"
        f"<table><thead><tr><th>#</th><th>score</th><th style='text-align:left'>chunk</th></tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def _summary(answer: Answer) -> str:
    version = "" if answer.version is None else f", v{answer.version}"
    judged = answer.answerability
    impossible = "" if judged is None or judged.answerable else f", impossible ({judged.kind}): {judged.why}"
    return f"{answer.status.word}, {len(answer)} of {answer.searched:,} chunks{version}{impossible}"


def _marked(hit: Hit) -> str:
    excerpt = hit.excerpt(_EXCERPT)
    pieces, at = [], 0
    for start, end in excerpt.marks:
        pieces += [escape(excerpt.text[at:start]), f"<mark>{escape(excerpt.text[start:end])}</mark>"]
        at = end
    before, after = "… " * excerpt.cut_before, " …" * excerpt.cut_after
    return before + "".join([*pieces, escape(excerpt.text[at:])]).strip() + after


def _cut(text: str, width: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 1] + "…"
