"""Scorers: stages that add boosts or multiply priors from facts about a chunk. They neither add nor drop ids.

An unknown fact changes nothing: an undated chunk is neither boosted nor decayed.
"""

from collections.abc import Mapping

SCORERS: Mapping[str, str] = {
    "currency": "assay.score.currency:Currency",
    "decay": "assay.score.decay:Decay",
    "exact_bonus": "assay.score.exact_bonus:ExactBonus",
    "field_boost": "assay.score.field_boost:FieldBoost",
    "importance": "assay.score.importance:Importance",
    "length": "assay.score.length:Length",
    "period": "assay.score.period:Period",
    "recency": "assay.score.recency:Recency",
    "speaker": "assay.score.speaker:Speaker",
    "title_match": "assay.score.title_match:TitleMatch",
    "tmd": "assay.score.tmd:Tmd",
}
