"""The template set of the frozen world, on which the benchmark's verdict is given.

It was written before any hierarchical retriever existed and shares no template with the dev world; nothing may be
tuned on it. A retriever that was improved afterwards is judged on a new set.
"""

from __future__ import annotations

from assay.bench.rb006.world.templates import TemplateSet, number_templates
from assay.bench.rb006.world.templates_frozen.fillers import FILLERS, TITLES
from assay.bench.rb006.world.templates_frozen.frames_entities import ENTITY_FRAMES
from assay.bench.rb006.world.templates_frozen.frames_records import RECORD_FRAMES
from assay.bench.rb006.world.templates_frozen.lexicon import WORDS
from assay.bench.rb006.world.templates_frozen.policies import POLICIES
from assay.bench.rb006.world.templates_frozen.queries_feasible import FEASIBLE
from assay.bench.rb006.world.templates_frozen.queries_impossible import IMPOSSIBLE

FROZEN = TemplateSet(
    name="frozen",
    words=WORDS,
    policies=POLICIES,
    frames={**ENTITY_FRAMES, **RECORD_FRAMES},
    fillers=FILLERS,
    titles=TITLES,
    queries=number_templates({**FEASIBLE, **IMPOSSIBLE}, tuning_share=0.0),
)
