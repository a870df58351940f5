"""Human judgements: pools of results, a ledger of judgements, agreement, and the resulting dataset."""
