"""What a shell may complete: sessions, meetings and seats, looked up in a blink and never with an error."""

from __future__ import annotations

import re
import sqlite3
import tomllib
from contextlib import closing
from pathlib import Path

from roundtable.app.settings.places import Places, workspace_of

MANY = 50
_PLAIN = re.compile(r"[\w.-]+")
"""Only what means nothing to a shell is offered to one."""


def sessions() -> list[str]:
    """The addresses of this workspace's sessions, the newest first."""
    path = Places.of_this_person().database
    if not path.exists():
        return []
    workspace = str(workspace_of(Path.cwd()))
    here = "(workspace = ?1 OR opened_in = ?1) AND forgotten_at = ''"
    newest = f"SELECT slug, name FROM sessions WHERE {here} ORDER BY id DESC LIMIT ?2"
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=0.1)) as record:
            rows = record.execute(newest, (workspace, MANY)).fetchall()
    except sqlite3.Error:
        return []
    return _plain(["last", *(word for slug, name in rows for word in (name, slug))])


def meetings() -> list[str]:
    """The meetings one can ask for here."""
    from roundtable.app.settings.template_files import known_meetings

    return _plain(list(known_meetings(Places.of_this_person(), workspace_of(Path.cwd()))))


def seats() -> list[str]:
    """The seats that the configs name."""
    workspace = workspace_of(Path.cwd())
    found: list[str] = []
    for path in (workspace / ".roundtable" / "config.toml", Places.of_this_person().user_config):
        try:
            found += list(tomllib.loads(path.read_text()).get("seats", {}))
        except (OSError, ValueError, TypeError):
            continue
    return _plain(found)


def _plain(words: list[str]) -> list[str]:
    return [word for word in dict.fromkeys(words) if _PLAIN.fullmatch(word)]
