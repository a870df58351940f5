"""What all tests share: property tests have no deadline, because a busy machine is no bug."""

from hypothesis import settings

settings.register_profile("assay", deadline=None)
settings.load_profile("assay")
