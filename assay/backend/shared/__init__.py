"""Code that several backends share: filters, BM25 scoring, exact match, graph search, filter cache."""
