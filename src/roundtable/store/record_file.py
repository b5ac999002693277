"""Looks into the file of a record without opening it as a store: read-only, and never created or upgraded."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec

from roundtable.store.fact_rows import find_damaged_stored_events

_NEWEST = """
    SELECT slug, name FROM sessions WHERE (workspace = ?1 OR opened_in = ?1) AND forgotten_at = ''
    ORDER BY id DESC LIMIT ?2
"""


class RecordFile(msgspec.Struct, frozen=True):
    """The file of a record. `integrity` is `ok`, `absent` if there is no file, or what is wrong with it."""

    path: str
    schema: int = 0
    sessions: int = 0
    integrity: str = "absent"

    @property
    def ok(self) -> bool:
        """Whether the record can be used, or created."""
        return self.integrity in ("ok", "absent")

    @classmethod
    def check(cls, path: Path) -> RecordFile:
        """Check the integrity of a record."""
        if not path.exists():
            return cls(str(path))
        try:
            with closing(_connect(path, seconds=5)) as db:
                (schema,) = db.execute("PRAGMA user_version").fetchone()
                (integrity,) = db.execute("PRAGMA quick_check(1)").fetchone()
                damaged = len({fact.session for fact in find_damaged_stored_events(db)}) if schema else 0
                (sessions,) = db.execute("SELECT count(*) FROM sessions").fetchone() if schema else (0,)
        except sqlite3.Error as error:
            return cls(str(path), integrity=f"{error}")
        if damaged and integrity == "ok":
            integrity = f"damaged sessions: {damaged}; `roundtable verify` names them"
        return cls(str(path), schema, sessions, integrity)

    @staticmethod
    def recent_addresses(path: Path, workspace: str, most: int) -> list[tuple[str, str]]:
        """Return slug and name of the newest sessions of a workspace; none if the record cannot be read at once."""
        if not path.exists():
            return []
        try:
            with closing(_connect(path, seconds=0.1)) as db:
                return db.execute(_NEWEST, (workspace, most)).fetchall()
        except sqlite3.Error:
            return []


def _connect(path: Path, seconds: float) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=seconds)
