"""Every store passes the conformance kits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from roundtable.core.text.redaction import Redactor
from roundtable.store.in_memory import InMemoryStore
from roundtable.store.sqlite import SqliteStore
from tests.kits.index_kit import IndexKit
from tests.kits.store_kit import Record, StoreKit


class TestSqliteStore(StoreKit):
    async def make(self, folder: Path, redact: Redactor | None = None, **options: Any) -> Record:
        return await SqliteStore.open(folder / "roundtable.db", redact, **options)


class TestMemoryStore(StoreKit):
    async def make(self, folder: Path, redact: Redactor | None = None, **options: Any) -> Record:
        return InMemoryStore(redact, **options)


class TestSqliteIndex(IndexKit):
    async def make(self, folder: Path) -> Record:
        return await SqliteStore.open(folder / "roundtable.db")


class TestMemoryIndex(IndexKit):
    async def make(self, folder: Path) -> Record:
        return InMemoryStore()
