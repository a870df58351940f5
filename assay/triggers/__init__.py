"""When does a leg run? Triggers read what the legs before it found and the config's k, never the caller's.

A trigger that reads one leg reads the first of the pipeline, the must-first source, unless `leg` names another.
"""

from collections.abc import Mapping

TRIGGERS: Mapping[str, str] = {
    "always": "assay.triggers.counts:Always",
    "fewer_than": "assay.triggers.counts:FewerThan",
    "fill_to_k": "assay.triggers.counts:FillToK",
    "top_score_below": "assay.triggers.scores:TopScoreBelow",
    "margin_below": "assay.triggers.scores:MarginBelow",
    "term_coverage_below": "assay.triggers.coverage:TermCoverageBelow",
    "any_of": "assay.triggers.combine:AnyOf",
    "all_of": "assay.triggers.combine:AllOf",
}
