"""The prompts of meetings: all of them are shipped, and a missing one is reported."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from roundtable.app.opening.meeting_catalog import snapshot_charter_prompts
from roundtable.core.faults import RoundtableError
from roundtable.meetings import MEETINGS
from tests.repository import git

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("meeting", MEETINGS)
def test_every_prompt_of_a_shipped_meeting_is_tracked_by_git(meeting: str) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("This is no git checkout, so nothing can tell which files are tracked.")
    folder = f"src/roundtable/meetings/prompts/{meeting}"
    tracked = git(ROOT, "-c", f"safe.directory={ROOT}", "ls-files", folder).splitlines()
    assert {f"{folder}/{name}.md" for name in MEETINGS[meeting].templates} <= set(tracked)


def test_a_missing_shipped_prompt_is_reported_with_what_to_do() -> None:
    rules = msgspec.structs.replace(MEETINGS["build"], templates=("system", "lost"))
    with pytest.raises(RoundtableError, match="The prompt lost of the meeting build is missing") as raised:
        snapshot_charter_prompts(rules, {}, (), "en")
    assert raised.value.help == "Install Roundtable again."
