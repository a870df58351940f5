"""The organisation simulator: facts in a state machine, text as their rendering, queries with gold sentences.

streams        random streams by (seed, key): the base of reproducibility and growth
templates      what a template set holds; `templates_dev` for tuning, `templates_frozen` for the verdict
facts          facts with validity and unique keys
names          names and codes of all entities
organisation   what a department consists of
simulation     the state machine: 24 months of one department
documents      sentences, chunks and plans of documents
plans          which documents a department writes and which facts they state
renderer       plans into chunks of 40 to 90 tokens
library        departments on demand, indexed from fact to sentence
queries        queries, evidence groups and the allocation of a suite; `allocation` scales it to 500
binders        facts and words for feasible queries; `binders_impossible` for impossible ones
query_rules    the rules that each query obeys
real_text      real text as the body of a corpus; `carriers` finds the documents that are mixed into it
suite          builds the queries
world          `build_world`, `verify`
writer         `write_world`: a dataset folder

world = build_world(seed=6, templates="dev", scale=10_000)
write_world(world, Path("world-10k"))
"""

from __future__ import annotations

from assay.bench.rb006.world.templates import TemplateSet, find_shared_templates
from assay.bench.rb006.world.world import STAGES, TEMPLATE_SETS, Base, World, build_world, verify
from assay.bench.rb006.world.writer import write_world

__all__ = [
    "STAGES",
    "TEMPLATE_SETS",
    "Base",
    "TemplateSet",
    "World",
    "build_world",
    "find_shared_templates",
    "verify",
    "write_world",
]
