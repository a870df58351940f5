"""Retrievers for other frameworks, each an extra: `langchain`, `llama_index`, `haystack`."""
