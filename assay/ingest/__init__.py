"""Files and records become chunks: discover, read, cut.

`walk` finds files and reads them with guards, `readers/` knows one format per file, `records` turns a mapping
into a document, `chunk` cuts documents into chunks with stable ids.
"""
