"""Plug-ins that ask a language model: is a context enough, and what does a reader make of it. Never gated.

chat_votes    three samples, the majority counts, answers are cached
answerability_judge   A@T by a language model, beside the mechanical one, with controls that find a judge who lies
generation    answers written from a context: correctness and faithfulness
"""
