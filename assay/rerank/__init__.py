"""Rerankers: stages that score query and text with a model. If the model cannot run, the ranking stays as it is and a
note says so."""

from collections.abc import Mapping

RERANKERS: Mapping[str, str] = {
    "cosine": "assay.rerank.cosine:Cosine",
    "cross_encoder": "assay.rerank.cross_encoder:CrossEncoder",
    "late_interaction": "assay.rerank.late_interaction:LateInteraction",
    "learned": "assay.rerank.learned:Learned",
    "lvm": "assay.rerank.lvm:Lvm",
    "provider_rerank": "assay.rerank.provider_rerank:ProviderRerank",
}
