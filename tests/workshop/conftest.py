"""Fixtures for workshop tests that write many files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest


@pytest.fixture
def in_memory() -> Generator[Path]:
    """A folder in memory if there is one: these tests sync hundreds of writes, and disks are slow."""
    memory = "/dev/shm"
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield Path(folder)
