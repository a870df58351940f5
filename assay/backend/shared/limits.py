"""Numbers of changed rows from which an index is built, shared by the backends that have one."""

COMPACT_FROM = 4_096
"""Tail and dead rows from which a new index is worth building."""
MOST_TAIL = 20_000
"""Tail rows that are indexed before the first search instead of being searched as a tail."""
