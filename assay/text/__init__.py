"""What is in a text? Words, sentences, tokens, language: counted and cut in one way for everything above.

    analyse    text → index terms, for chunks, queries, the tail and highlights alike
    highlight  the window of a text that shows why it was found
    sentences  where sentences begin and end
    tokens     how much of a token budget a text takes
    wordpiece  what the default embedding model sees
    language   which language a document is in
    noise      whether a text says anything worth remembering (utterance, phrases, small_talk, commands: how it knows)

Nothing heavy is imported until it is used.
"""
