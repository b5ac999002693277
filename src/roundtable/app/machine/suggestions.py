"""Shell completions of sessions, meetings and seats: fast, and never an error."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from roundtable.app.settings.places import Places, find_workspace
from roundtable.store.record_file import RecordFile

MAX_SUGGESTIONS = 50
_SHELL_SAFE = re.compile(r"[\w.-]+")
"""Only words without a meaning to the shell are suggested."""


def suggest_sessions() -> list[str]:
    """Return the addresses of this workspace's sessions, the newest first."""
    rows = RecordFile.recent_addresses(
        Places.of_this_person().database, str(find_workspace(Path.cwd())), MAX_SUGGESTIONS
    )
    return _keep_shell_safe(["last", *(word for slug, name in rows for word in (name, slug))]) if rows else []


def suggest_meetings() -> list[str]:
    """Return the names of the meetings that are available here."""
    from roundtable.app.settings.template_files import list_meeting_template_names

    return _keep_shell_safe(list(list_meeting_template_names(Places.of_this_person(), find_workspace(Path.cwd()))))


def suggest_seats() -> list[str]:
    """Return the seats in the configs."""
    workspace = find_workspace(Path.cwd())
    found: list[str] = []
    for path in (workspace / ".roundtable" / "config.toml", Places.of_this_person().user_config):
        try:
            found += list(tomllib.loads(path.read_text()).get("seats", {}))
        except (OSError, ValueError, TypeError):
            continue
    return _keep_shell_safe(found)


def _keep_shell_safe(words: list[str]) -> list[str]:
    return [word for word in dict.fromkeys(words) if _SHELL_SAFE.fullmatch(word)]
