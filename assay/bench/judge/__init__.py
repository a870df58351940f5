"""Labels by people: pools of results, a ledger of judgements, agreement, and the dataset they make."""
