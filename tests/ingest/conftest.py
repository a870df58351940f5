"""A slow machine is not a bug: no property test here has a time limit."""

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
