"""Selectors: each keeps, drops or re-tiers candidates. Every drop has a note with its reason."""

from collections.abc import Mapping

SELECTORS: Mapping[str, str] = {
    "budget": "assay.select.budget:Budget",
    "defer": "assay.select.defer:Defer",
    "min_score": "assay.select.min_score:MinScore",
    "mmr": "assay.select.mmr:Mmr",
    "noise": "assay.select.noise:Noise",
    "one_per": "assay.select.one_per:OnePer",
    "sort": "assay.select.sort:Sort",
    "top_k": "assay.select.top_k:TopK",
    "where": "assay.select.where:Where",
}
