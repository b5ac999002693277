"""Where tests of the workshop that write a great deal do so."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest


@pytest.fixture
def in_memory() -> Generator[Path]:
    """A folder in memory where there is one: hundreds of writes are made to last here, and disks take their time."""
    memory = "/dev/shm"
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield Path(folder)
