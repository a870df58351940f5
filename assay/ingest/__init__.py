"""Turns files and records into chunks.

`discovery` finds files and reads them with guards, `readers/` holds one format per file, `records` turns a mapping
into a document, `chunker` splits documents into chunks with stable ids.
"""
