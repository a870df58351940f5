"""The weights of the three scores that routing combines."""

from __future__ import annotations

from dataclasses import dataclass

from assay.engine.checks import check_number
from assay.errors import ConfigError

LEXICAL, COSINE, ENTITY = 2.0, 3.0, 2.0
MOST = 100.0


@dataclass(frozen=True, slots=True)
class ScoreWeights:
    """Weights of the words, the vector and the entities of a query, divided by their sum.

    All three are scaled alike for every row and node of a query, so they are comparable between branches:
    BM25 over the best BM25 score of the query, max(0, cosine), and the weighted share of the query's entities.
    """

    lexical: float
    cosine: float
    entity: float

    @staticmethod
    def make(component: str, lexical: float, cosine: float, entity: float) -> ScoreWeights:
        """Check weights as a component's config gives them, and divide them by their sum."""
        for name, value in (("lexical", lexical), ("cosine", cosine), ("entity", entity)):
            check_number(f"{component}.{name}", value, 0.0, MOST)
        total = lexical + cosine + entity
        if total == 0.0:
            raise ConfigError(
                f"{component}: lexical, cosine and entity are all 0", "give at least one of them a weight above 0"
            )
        return ScoreWeights(lexical / total, cosine / total, entity / total)
