"""Helpers without domain knowledge: atomic files, worker processes, threads, a disk cache."""
