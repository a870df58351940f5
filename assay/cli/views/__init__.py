"""What commands print: answers, explanations, reports, tables."""
