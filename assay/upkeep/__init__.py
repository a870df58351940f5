"""What the owner of a store does beside searching: back up, copy, check, list, re-embed, annotate."""
