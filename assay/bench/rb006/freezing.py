"""Freezes a suite: a template set, a seed and hand-written queries become a file with the digest of all of it.

A retriever that was improved is judged on a fresh suite, so its templates may not be those of any other world, nobody
may have tuned on them, and a fifth of the queries is written by people who read the gold, not the retriever.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from assay.bench.rb006.contamination import check_contamination
from assay.bench.rb006.frozen_suite import (
    ADVERSARIAL_SHARE,
    FrozenSuite,
    HandwrittenQuery,
    attach_handwritten,
    digest_facts,
    digest_queries,
    read_suite,
)
from assay.bench.rb006.world import build_world
from assay.bench.rb006.world.templates_dev import DEV
from assay.errors import ConfigError
from assay.types import Progress

HANDWRITTEN_SHARE = ADVERSARIAL_SHARE
"""One query in five is written by hand."""


def freeze_suite(
    templates: str, seed: int, texts: Mapping[str, str], on: str, progress: Progress | None = None
) -> FrozenSuite:
    """The suite of a template set with these hand-written `texts` (query → text), frozen `on` a date."""
    if templates == DEV.name:
        raise ConfigError(f"the world {templates!r} is tuned on", "write a template set of its own for a suite")
    if read_suite(templates) is not None:
        raise ConfigError(
            f"the suite {templates!r} is frozen already", "a fresh suite needs a template set that was never used"
        )
    world = build_world(seed, templates, progress=progress)
    wanted = len(world.queries) // HANDWRITTEN_SHARE
    if len(texts) != wanted:
        raise ConfigError(
            f"a suite of {len(world.queries)} has {wanted} hand-written queries, not {len(texts)}",
            "`assay bench rb006 sample` shows queries with their gold; write them as people ask",
        )
    by_id = {query.id: query for query in world.queries}
    written = {
        name: HandwrittenQuery(digest_facts(by_id[name]) if name in by_id else "", text) for name, text in texts.items()
    }
    suite = FrozenSuite(templates, seed, on, "", written)
    frozen = attach_handwritten(world, suite)
    faults = check_contamination(frozen).faults
    if faults:
        raise ConfigError(
            f"the contamination checks find {len(faults)} faults, first: {faults[0]}",
            "change the text or the template, and freeze again",
        )
    return replace(suite, sha256=digest_queries(frozen.queries))


def format_suite(suite: FrozenSuite) -> str:
    """The file that `read_suite` reads."""
    rows = [{"id": name, "facts": one.facts, "text": one.text} for name, one in suite.handwritten.items()]
    stored = {
        "templates": suite.templates,
        "seed": suite.seed,
        "frozen_on": suite.frozen_on,
        "sha256": suite.sha256,
        "handwritten": rows,
    }
    return json.dumps(stored, ensure_ascii=False, indent=1) + "\n"


def read_handwritten(path: Path) -> dict[str, str]:
    """query → text, from lines like {"id": "q005", "text": "…"}; a broken line is an error with its number."""
    found: dict[str, str] = {}
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        try:
            row = json.loads(line)
            name, text = str(row["id"]), str(row["text"]).strip()
        except (ValueError, TypeError, KeyError) as error:
            raise ConfigError(
                f"{path}, line {number} is no hand-written query: {error}", 'write {"id": "q005", "text": "…"}'
            ) from error
        if not text:
            raise ConfigError(f"{path}, line {number} has no text", "write the query as people ask")
        if name in found:
            raise ConfigError(f"{path} has {name} twice", "remove one of the lines")
        found[name] = text
    return found
