"""Text analysis: terms, sentences, tokens, language.

    analyser      text → index terms, for chunks, queries, the tail and highlights
    highlight     the excerpt of a text that shows why it matches a query
    sentences     the spans of sentences
    token_count   the tokens of a budget that a text takes
    wordpiece     the tokens of the default embedding model
    language      the language of a document
    query         what a query asks for: intents, names, versions, dates, facets
    noise_filter  whether a text is worth remembering (from phrases, phrase_units, phrase_tables, commands)

Nothing heavy is imported until it is used.
"""
