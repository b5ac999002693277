"""Property tests on busy machines: no time limit per example."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("core", deadline=None, max_examples=100)
settings.load_profile("core")
