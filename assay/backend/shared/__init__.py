"""What several backends share: filters, BM25 scoring, exact keys, graph search, filter cache."""
