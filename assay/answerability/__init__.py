"""Answerability: whether a store can answer a question within a token budget, and if not, why.

judge       `AnswerabilityJudge`: the decision, its reason and the measurements behind it
question    the words of a question: its names, its content, its cues
cues        words that ask for everything (all, every, one by one) or for an account of events
evidence    what the search found, measured against the question's words
speakers    whether the passages that match were said by somebody else
demand      how many tokens a complete answer takes
heads       the two logistic regressions, read from data/heads.json (benchmarks/train_answerability.py)
"""
