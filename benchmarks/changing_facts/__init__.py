"""The suite of changing facts: templates, values and hand-written cases, and the generator of the dataset."""
