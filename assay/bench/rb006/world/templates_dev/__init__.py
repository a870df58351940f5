"""The template set of the dev world. The frozen world of the benchmark uses another, disjoint one."""

from __future__ import annotations

from assay.bench.rb006.world.templates import TemplateSet, number_templates
from assay.bench.rb006.world.templates_dev.fillers import FILLERS, TITLES
from assay.bench.rb006.world.templates_dev.frames import FRAMES
from assay.bench.rb006.world.templates_dev.lexicon import POLICIES, WORDS
from assay.bench.rb006.world.templates_dev.queries import QUERIES

DEV = TemplateSet("dev", WORDS, POLICIES, FRAMES, FILLERS, TITLES, number_templates(QUERIES))
