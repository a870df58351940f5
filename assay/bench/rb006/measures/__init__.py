"""What RB-006 measures beyond the lab's metrics. Pure functions of values per query.

curves      answerability by token budget: area, budget at parity
race        the race against its two paths: gain, regret, strata won
detection   impossible queries: precision, recall, utility
survival    how well routing predicts answers: Spearman, its test and its ceiling
"""
