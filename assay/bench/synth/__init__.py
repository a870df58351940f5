"""Synthetic test suites for collections without labels: queries generated from the documents."""
