"""Judges whether a question can be answered: first what it demands, then whether the store holds it.

The demand is estimated only where the words ask for everything or for a change; any other question asks for one
passage. Every number is a function of the query, the snapshot and what the legs found, so a replay gives it again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from assay.answerability.demand import Demand, estimate_demand
from assay.answerability.evidence import FoundEvidence, collect_evidence, weigh_terms
from assay.answerability.heads import JudgeModel, LogisticHead, load_model
from assay.answerability.question import Question, QuestionWord, read_question
from assay.answerability.speakers import speaker_gap
from assay.engine.answerability import Answerability, AnswerabilityKind, JudgedFeature
from assay.engine.trace import Span
from assay.protocols import Snapshot
from assay.text.wordpiece import count_pieces
from assay.types import Query

DEFAULT_BUDGET = 400
"""Tokens that a question is judged against when its search has no budget."""
_MOST_DOUBLINGS = 4.0
_MOST_NAMED = 3
_LACKING = 4.0
_WHOLE_QUESTION = 4
"""Content words from which on a query is a question whose cosines compare."""
Values = dict[str, float]


@dataclass(frozen=True, eq=False)
class EvidenceMeasures:
    """Everything that was measured about a question; `demand` is None where it asks for one passage."""

    question: Question
    evidence: FoundEvidence
    demand: Demand | None
    demand_values: Values
    scope_values: Values


@dataclass(frozen=True, slots=True)
class AnswerabilityJudge:
    """Judges questions of stores with one embedding model (`model`: its digest, "" without) against a token budget."""

    model: str = ""
    budget: int = DEFAULT_BUDGET

    def __call__(self, query: Query, snapshot: Snapshot, trace: Sequence[Span]) -> Answerability:
        weights = weigh_terms(query, snapshot)
        if not weights:
            return Answerability(None, 0.0, None, self.budget, "there are no words to judge")
        if not snapshot.size:
            return Answerability("out_of_scope", 1.0, None, self.budget, "the store is empty")
        measured = measure(query, weights, snapshot, trace, self.budget)
        heads = load_model(self.model if measured.evidence.cosines is not None else "")
        return decide(query, measured, heads, self.budget)


def decide(query: Query, measured: EvidenceMeasures, heads: JudgeModel, budget: int) -> Answerability:
    """The judgement that heads make of measurements. What the store does not know needs no estimate of its size."""
    demand = _judge_demand(measured, heads.demand, budget)
    scope = _judge_scope(measured, heads, query)
    features = (
        *(() if measured.demand is None else _list_features("demand", heads.demand, measured.demand_values)),
        *_list_features("scope", heads.scope, measured.scope_values),
    )
    tokens = None if measured.demand is None else measured.demand.tokens
    kind, probability, why = scope if scope[0] is not None else demand
    if kind is None:
        probability = max(demand[1], scope[1])
    return Answerability(kind, probability, tokens, budget, why, features)


def measure(
    query: Query, weights: dict[str, float], snapshot: Snapshot, trace: Sequence[Span], budget: int
) -> EvidenceMeasures:
    """Measure the features of both heads."""
    question = read_question(query, snapshot, weights)
    evidence = collect_evidence(query, question, weights, snapshot, trace)
    demand = None
    if _asks_for_much(question):
        demand = estimate_demand(query, question, dict(evidence.table.weights), snapshot)
    return EvidenceMeasures(
        question, evidence, demand, _demand_values(question, demand, budget), _scope_values(question, evidence)
    )


# -- demand


def _asks_for_much(question: Question) -> bool:
    intents = question.intents
    return bool(question.cues.exhaustive or question.cues.loose) or "set" in intents or _asks_for_change(question)


def _asks_for_change(question: Question) -> bool:
    cues = question.cues
    if "diff" in question.intents:
        return True
    if len(question.versions) >= 2:
        return cues.change or cues.sides
    return cues.change and cues.editions


def _demand_values(question: Question, demand: Demand | None, budget: int) -> Values:
    """cues    words that ask for everything, at most 2
    loose   1 if there is such a word in a place where it may belong to a detail
    set     1 if the parser read the intent set
    change  1 if it asks for what changed
    size    how often the budget doubles until it holds the estimate, from −4 to 4
    """
    tokens = demand.tokens if demand is not None else 0
    doublings = math.log2(max(tokens, 1) / budget)
    return {
        "cues": float(min(len(question.cues.exhaustive), 2)),
        "loose": float(bool(question.cues.loose)),
        "set": float("set" in question.intents),
        "change": float(_asks_for_change(question)),
        "size": min(max(doublings, -_MOST_DOUBLINGS), _MOST_DOUBLINGS),
    }


def _judge_demand(
    measured: EvidenceMeasures, head: LogisticHead, budget: int
) -> tuple[AnswerabilityKind | None, float, str]:
    demand = measured.demand
    if demand is None:
        return None, 0.0, "it asks for one passage"
    probability = head.probability(measured.demand_values)
    what = _describe_demand(demand)
    if demand.most_tokens <= budget:  # a short list is answerable, however it is asked for
        return None, 0.0, f"{what}, the budget is {budget:,}"
    if probability < head.threshold:
        return None, probability, f"{what}, but it may ask for less"
    return _demand_kind(measured.question), probability, f"{what}, the budget is {budget:,}"


def _demand_kind(question: Question) -> AnswerabilityKind:
    if _asks_for_change(question):
        return "diff"
    return "long_evidence" if question.cues.narrative else "listing"


def _describe_demand(demand: Demand) -> str:
    if not demand.chunks:
        return "no chunk matches all it asks for"
    if demand.compared:
        return f"{demand.chunks:,} sentences differ between the versions; they take about {demand.tokens:,} tokens"
    most = f"{demand.most_chunks:,}{' or more' if demand.more else ''}"
    chunks = f"about {demand.chunks:,}" + (f" of {most}" if demand.most_chunks > demand.chunks else "")
    return f"{chunks} chunk{'' if most == '1' else 's'} match; listing them takes about {demand.tokens:,} tokens"


# -- scope


def _scope_values(question: Question, evidence: FoundEvidence) -> Values:
    """All from 0 to 1, except speaker, which may be negative.

    unknown     weight of the content that no visible chunk holds
    identifier  1 if an identifier is among the unknown words
    name        share of the names with an unknown word
    uncovered   weight of the content that the best candidate lacks
    apart       1 if no candidate holds a name whole, although its words are known
    speaker     how much better the question matches what others said (speakers.py)
    distance    (1 − the best cosine) · min(1, words / 4) · min(1, 4 · uncovered); 0 without vectors. A search of one or
                two words has low cosines whatever it is about, and a passage with all the words is near.
    """
    table = evidence.table
    content = question.terms
    whole = sum(table.weights[term] for term in content)
    lost = evidence.unknown_terms
    covered = table.coverage(content)
    known_names = [name for name in question.names if not name & lost]
    uncovered = 1.0 - float(covered.max()) if len(covered) else 1.0
    far = 0.0 if evidence.cosines is None else 1.0 - best_cosine(evidence)
    share = min(1.0, len(question.words) / _WHOLE_QUESTION) * min(1.0, _LACKING * uncovered)
    return {
        "unknown": sum(table.weights[term] for term in lost) / whole if whole > 0.0 else 0.0,
        "identifier": float(any(word.identifier for word in evidence.unknown)),
        "name": 1.0 - len(known_names) / len(question.names) if question.names else 0.0,
        "uncovered": uncovered,
        "apart": float(bool(known_names) and not any(table.find_rows(name).any() for name in known_names)),
        "speaker": speaker_gap(question, evidence),
        "distance": far * share,
    }


def _judge_scope(
    measured: EvidenceMeasures, heads: JudgeModel, query: Query
) -> tuple[AnswerabilityKind | None, float, str]:
    values, head = measured.scope_values, heads.scope
    probability = head.probability(values)
    words = measured.question.words
    near = heads.near is not None and best_cosine(measured.evidence) >= heads.near
    nothing_known = bool(words) and len(set(measured.evidence.unknown)) == len({word.text for word in words})
    # Not one word of the question is there, and no passage is close in meaning. With vectors, ordinary words that a
    # store lacks are no sign of that: "fall ill" is answered by a page about sick leave.
    if nothing_known and not near and not (heads.near is not None and _are_ordinary(measured.evidence.unknown)):
        return "out_of_scope", max(probability, head.threshold), _describe_scope(measured, heads, query)
    if probability < head.threshold:
        return None, probability, ""
    return "out_of_scope", probability, _describe_scope(measured, heads, query)


def _are_ordinary(words: Sequence[QuestionWord]) -> bool:
    """Whether every word is a whole entry of the encoder's vocabulary, as common English words are."""
    return all(count_pieces(word.text) == 1 for word in words)


def _describe_scope(measured: EvidenceMeasures, heads: JudgeModel, query: Query) -> str:
    """The strongest reason as a sentence."""
    evidence, values = measured.evidence, measured.scope_values
    where = "the store does not" if _sees_all(query) else "nothing that the query may see does"
    if evidence.unknown:
        shown = [repr(word.text) for word in dict.fromkeys(evidence.unknown)]
        more = len(shown) - _MOST_NAMED
        listed = ", ".join(shown[:_MOST_NAMED]) + (f" and {more} more words" if more > 0 else "")
        verb = "know" if _sees_all(query) else "hold"
        return f"{where.removesuffix(' does')} {verb}{'' if _sees_all(query) else 's'} {listed}"
    if values["speaker"] > 0.0 and "speaker" in heads.scope.weights:
        return f"what matches was not said by {' or '.join(measured.question.name_texts[:_MOST_NAMED])}"
    close = ""
    if heads.near is not None:
        close = f", and the closest in meaning has a cosine of {best_cosine(evidence):.2f}"
    return f"no passage holds more than {1.0 - values['uncovered']:.0%} of what it asks for{close}"


def best_cosine(evidence: FoundEvidence) -> float:
    """The best cosine of a candidate with the query; 0 without vectors."""
    return 0.0 if evidence.cosines is None else float(evidence.cosines.max())


def _sees_all(query: Query) -> bool:
    return query.where is None and query.scope is None and query.at is None


def _list_features(
    name: Literal["demand", "scope"], head: LogisticHead, values: Mapping[str, float]
) -> tuple[JudgedFeature, ...]:
    return tuple(JudgedFeature(name, key, values[key], weight) for key, weight in sorted(head.weights.items()))
