"""The files that bring meetings and prompts besides the shipped ones: a person's own, and a workspace's."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import resources
from pathlib import Path

from roundtable.app.settings.places import Places
from roundtable.core.faults import ConfigError, NotFound
from roundtable.core.text.sanitize import sanitize_line
from roundtable.meetings import MEETINGS
from roundtable.voices.data_file import suggest_nearest_name

MAX_TEMPLATE_BYTES = 64_000
MEETING_FILES = "meetings/*.toml"
STAGE_FILES = "stages/*.toml"


def meeting_prompt_pattern(meeting: str) -> str:
    """Where the prompts of one meeting lie."""
    return f"prompts/{meeting}/*.md"


def load_preset_texts() -> dict[str, str]:
    """The shipped presets by name, as they are written."""
    folder = resources.files("roundtable.meetings") / "presets"
    files = (traversable for traversable in folder.iterdir() if traversable.name.endswith(".toml"))
    return {
        traversable.name.removesuffix(".toml"): traversable.read_text()
        for traversable in sorted(files, key=lambda item: item.name)
    }


def find_user_templates(places: Places, pattern: str) -> dict[str, Path]:
    """The person's own files of one kind by name."""
    return {path.stem: path for path in sorted(places.config.glob(pattern)) if path.is_file()}


def find_workspace_templates(workspace: Path, pattern: str) -> dict[str, Path]:
    """A workspace's files of one kind by name; none behind a link, which could show seats what nobody meant to show,
    and none too long to be read before it is trusted."""
    folder = workspace / ".roundtable"
    root = folder.resolve()
    found = (
        path for path in sorted(folder.glob(pattern)) if path.is_file() and path.stat().st_size <= MAX_TEMPLATE_BYTES
    )
    return {path.stem: path for path in found if path.resolve() == root / path.relative_to(folder)}


def list_untrusted_templates(workspace: Path) -> list[Path]:
    """Everything of a workspace that says what seats are told: it waits for the person's trust."""
    spoken = [item.name for item in sorted((workspace / ".roundtable" / "prompts").glob("*"))]
    kinds = [MEETING_FILES, STAGE_FILES, *map(meeting_prompt_pattern, spoken)]
    return [path for kind in kinds for path in find_workspace_templates(workspace, kind).values()]


def read_template(path: Path) -> str:
    """The words of such a file."""
    try:
        if path.stat().st_size > MAX_TEMPLATE_BYTES:
            raise ConfigError(f"{path} is larger than {MAX_TEMPLATE_BYTES:,} bytes.", "Make it shorter.")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise ConfigError(f"{path} cannot be read as text.", "Check the file.") from None


def list_meeting_names(places: Places, workspace: Path) -> list[str]:
    """The name of every meeting there is, in the order in which they are listed."""
    own = (*find_user_templates(places, MEETING_FILES), *find_workspace_templates(workspace, MEETING_FILES))
    return list(dict.fromkeys((*MEETINGS, *load_preset_texts(), *own)))


def unknown_meeting_error(name: str, known: Iterable[str]) -> NotFound:
    """What to say where a name leads nowhere."""
    names = list(known)
    near = suggest_nearest_name(name, names).strip()
    listed = f"Meetings: {', '.join(names)}."
    return NotFound(f"There is no meeting called {sanitize_line(name, 60)}.", f"{near} {listed}".strip())
