"""What the records of a run say: pure functions from records to tables, tests and intervals.

measurements   the records of a run, and columns of values over queries
values         the values that thresholds judge
routing        errors by level and stratum, child recall, margins, errors by node
links          cross-links: reach, use, what is lost without them
comparisons    paired tests of the primaries and of the strata
detection      impossible queries by kind and by scale
scales         what is in scope at which scale, and where the race overtakes the flat baseline
tree_quality   how much siblings differ, what entities they share, what is reachable
"""
