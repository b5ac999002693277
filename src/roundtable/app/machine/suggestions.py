"""Shell completions of sessions, meetings and seats: fast, and never an error."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from roundtable.app.settings.places import Places
from roundtable.core.faults import ConfigError
from roundtable.store.record_file import RecordFile

MAX_SUGGESTIONS = 50
_SHELL_SAFE = re.compile(r"[\w.-]+")
"""Only words without a meaning to the shell are suggested."""


class Suggestions:
    """The words that a shell may complete in a workspace."""

    def __init__(self, places: Places, workspace: Path) -> None:
        self._places = places
        self._workspace = workspace

    def sessions(self) -> list[str]:
        """Return the addresses of this workspace's sessions, newest first."""
        rows = RecordFile.recent_addresses(self._places.database, str(self._workspace), MAX_SUGGESTIONS)
        return _keep_shell_safe(["last", *(word for slug, name in rows for word in (name, slug))]) if rows else []

    def meetings(self) -> list[str]:
        """Return the names of the available meetings."""
        from roundtable.app.settings.template_files import list_configured_meeting_names

        return _keep_shell_safe(list_configured_meeting_names(self._places, self._workspace))

    def seats(self) -> list[str]:
        """Return the names of the seats in the configs."""
        from roundtable.app.settings.config_files import (
            WORKSPACE_CONFIG,
            read_user_config_file,
            read_workspace_config_file,
        )
        from roundtable.core.text.strict_toml import parse_toml_with_depth_limit

        names: list[str] = []
        config = self._places.user_config
        reads = (
            partial(read_workspace_config_file, self._workspace, WORKSPACE_CONFIG),
            partial(read_user_config_file, config),
        )
        for read in reads:
            with contextlib.suppress(ConfigError, ValueError, TypeError):
                names += list(parse_toml_with_depth_limit((read() or b"").decode()).get("seats", {}))
        return _keep_shell_safe(names)


def _keep_shell_safe(words: Iterable[str]) -> list[str]:
    return [word for word in dict.fromkeys(words) if _SHELL_SAFE.fullmatch(word)]
