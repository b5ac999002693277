"""Bubblewrap joins the kit."""

from __future__ import annotations

from tests.kits.sandbox_kit import SandboxKit


class TestBubblewrap(SandboxKit):
    use = "bubblewrap"
