"""The lab: datasets × systems × metrics × gates → receipts that replay byte for byte."""
