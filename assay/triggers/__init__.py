"""Triggers: each decides whether a leg runs, from the rankings of earlier legs and the config's k, never the caller's.

A trigger that reads one leg reads the first leg of the pipeline unless `leg` names another.
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
