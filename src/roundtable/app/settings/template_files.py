"""The files that bring meetings and prompts besides the shipped ones: a person's own, and a workspace's."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import resources
from pathlib import Path

from roundtable.app.settings.places import Places
from roundtable.core.faults import ConfigError, NotFound
from roundtable.core.text.sanitize import sanitize_line
from roundtable.meetings import MEETINGS
from roundtable.voices.data_file import nearest

LARGEST = 64_000
MEETING_FILES = "meetings/*.toml"
STAGE_FILES = "stages/*.toml"


def prompts_of(meeting: str) -> str:
    """Where the prompts of one meeting lie."""
    return f"prompts/{meeting}/*.md"


def presets() -> dict[str, str]:
    """The shipped presets by name, as they are written."""
    folder = resources.files("roundtable.meetings") / "presets"
    files = (traversable for traversable in folder.iterdir() if traversable.name.endswith(".toml"))
    return {
        traversable.name.removesuffix(".toml"): traversable.read_text()
        for traversable in sorted(files, key=lambda item: item.name)
    }


def of_person(places: Places, pattern: str) -> dict[str, Path]:
    """The person's own files of one kind by name."""
    return {path.stem: path for path in sorted(places.config.glob(pattern)) if path.is_file()}


def of_workspace(workspace: Path, pattern: str) -> dict[str, Path]:
    """A workspace's files of one kind by name; none behind a link, which could show seats what nobody meant to show,
    and none too long to be read before it is trusted."""
    folder = workspace / ".roundtable"
    root = folder.resolve()
    found = (path for path in sorted(folder.glob(pattern)) if path.is_file() and path.stat().st_size <= LARGEST)
    return {path.stem: path for path in found if path.resolve() == root / path.relative_to(folder)}


def brought(workspace: Path) -> list[Path]:
    """Everything of a workspace that says what seats are told: it waits for the person's trust."""
    spoken = [item.name for item in sorted((workspace / ".roundtable" / "prompts").glob("*"))]
    kinds = [MEETING_FILES, STAGE_FILES, *map(prompts_of, spoken)]
    return [path for kind in kinds for path in of_workspace(workspace, kind).values()]


def text_of(path: Path) -> str:
    """The words of such a file."""
    try:
        if path.stat().st_size > LARGEST:
            raise ConfigError(f"{path} is larger than {LARGEST:,} bytes.", "Make it shorter.")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise ConfigError(f"{path} cannot be read as text.", "Check the file.") from None


def known_meetings(places: Places, workspace: Path) -> list[str]:
    """The name of every meeting there is, in the order in which they are listed."""
    own = (*of_person(places, MEETING_FILES), *of_workspace(workspace, MEETING_FILES))
    return list(dict.fromkeys((*MEETINGS, *presets(), *own)))


def no_such_meeting(name: str, known: Iterable[str]) -> NotFound:
    """What to say where a name leads nowhere."""
    names = list(known)
    near = nearest(name, names).strip()
    listed = f"Meetings: {', '.join(names)}."
    return NotFound(f"There is no meeting called {sanitize_line(name, 60)}.", f"{near} {listed}".strip())
