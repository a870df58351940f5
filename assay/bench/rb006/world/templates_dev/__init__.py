"""The template set of the dev world. The frozen world of the benchmark uses another, disjoint one."""

from __future__ import annotations

from assay.bench.rb006.world.templates import TemplateSet, number_templates
from assay.bench.rb006.world.templates_dev.fillers import FILLERS, TITLES
from assay.bench.rb006.world.templates_dev.frames_entities import ENTITY_FRAMES
from assay.bench.rb006.world.templates_dev.frames_records import RECORD_FRAMES
from assay.bench.rb006.world.templates_dev.lexicon import WORDS
from assay.bench.rb006.world.templates_dev.policies import POLICIES
from assay.bench.rb006.world.templates_dev.queries_feasible import FEASIBLE
from assay.bench.rb006.world.templates_dev.queries_impossible import IMPOSSIBLE

DEV = TemplateSet(
    name="dev",
    words=WORDS,
    policies=POLICIES,
    frames={**ENTITY_FRAMES, **RECORD_FRAMES},
    fillers=FILLERS,
    titles=TITLES,
    queries=number_templates({**FEASIBLE, **IMPOSSIBLE}),
)
