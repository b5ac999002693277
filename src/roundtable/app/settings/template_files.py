"""The files with meetings and prompts that a person or a workspace adds to the shipped ones."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import resources
from pathlib import Path

from roundtable.app.settings.places import Places
from roundtable.core.faults import ConfigError, NotFound
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.text.wording import did_you_mean_text
from roundtable.meetings import MEETINGS

MAX_TEMPLATE_BYTES = 64_000
MEETING_FILES = "meetings/*.toml"
STAGE_FILES = "stages/*.toml"


def build_prompt_template_pattern(meeting: str) -> str:
    """Return the glob of one meeting's prompts."""
    return f"prompts/{meeting}/*.md"


def load_preset_templates() -> dict[str, str]:
    """Return the texts of the shipped presets by name."""
    folder = resources.files("roundtable.meetings") / "presets"
    files = (traversable for traversable in folder.iterdir() if traversable.name.endswith(".toml"))
    return {
        traversable.name.removesuffix(".toml"): traversable.read_text()
        for traversable in sorted(files, key=lambda item: item.name)
    }


def find_user_templates(places: Places, pattern: str) -> dict[str, Path]:
    """Return the person's files of one kind by name."""
    return {path.stem: path for path in sorted(places.config.glob(pattern)) if path.is_file()}


def find_workspace_templates(workspace: Path, pattern: str) -> dict[str, Path]:
    """Return a workspace's files of one kind by name.

    Files behind links are skipped because they could reveal other content to seats, and so are files over the limit.
    """
    folder = workspace / ".roundtable"
    root = folder.resolve()
    paths = (
        path for path in sorted(folder.glob(pattern)) if path.is_file() and path.stat().st_size <= MAX_TEMPLATE_BYTES
    )
    return {path.stem: path for path in paths if path.resolve() == root / path.relative_to(folder)}


def list_untrusted_templates(workspace: Path) -> list[Path]:
    """Return every file of a workspace that adds to prompts: they need the person's trust."""
    spoken = [item.name for item in sorted((workspace / ".roundtable" / "prompts").glob("*"))]
    kinds = [MEETING_FILES, STAGE_FILES, *map(build_prompt_template_pattern, spoken)]
    return [path for kind in kinds for path in find_workspace_templates(workspace, kind).values()]


def read_template_file(path: Path) -> str:
    """Read the text of a template file."""
    try:
        if path.stat().st_size > MAX_TEMPLATE_BYTES:
            raise ConfigError(f"{path} is larger than {MAX_TEMPLATE_BYTES:,} bytes.", "Make it shorter.")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise ConfigError(f"{path} cannot be read as text.", "Check the file.") from None


def list_meeting_template_names(places: Places, workspace: Path) -> list[str]:
    """Return the names of all meetings in the order of a list."""
    own = (*find_user_templates(places, MEETING_FILES), *find_workspace_templates(workspace, MEETING_FILES))
    return list(dict.fromkeys((*MEETINGS, *load_preset_templates(), *own)))


def unknown_meeting_template_error(name: str, known: Iterable[str]) -> NotFound:
    """Return the error for an unknown meeting."""
    names = list(known)
    near = did_you_mean_text(name, names).strip()
    listed = f"Meetings: {', '.join(names)}."
    return NotFound(f"There is no meeting called {sanitize_line(name, 60)}.", f"{near} {listed}".strip())
