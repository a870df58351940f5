"""Query parsing: what a query asks for, read from its words by pure functions.

parse     `parse_query(text, at)`: everything below in one value
words     the words of a query with their places
intents   set, diff, as_of, compare or lookup, each with the words that decided it
versions  version constraints (v1.29, since 1.28, between 2.1 and 2.3)
dates     date constraints as ranges [since, until), resolved against a clock
periods   calendar arithmetic in UTC
facets    one sub-query per compared or conjoined name
"""
