"""What a meeting is shown when it begins: named files, folders, texts a door brings, and the project itself."""

from __future__ import annotations

from pathlib import Path

from roundtable.app.agenda import Agenda
from roundtable.app.context import read_clean
from roundtable.core.redaction import Redactor


async def gathered(redactor: Redactor, workspace: Path, agenda: Agenda) -> dict[str, bytes]:
    """Each thing to be shown under its name, in the order in which it is read."""
    return {name: read_clean(redactor, workspace, name) for name in agenda.files}
