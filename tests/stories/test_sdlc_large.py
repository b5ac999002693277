"""Projects that are larger than the prompt: everything that is not shown is named."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from roundtable.app.desk import Roundtable
from roundtable.core.stages import Stage
from roundtable.report.reasons import notice_sentences
from roundtable.report.stage_words import stage_notice_sentences
from tests.repository import commit, write
from tests.stories.test_sdlc_execution import SUM
from tests.stories.test_sdlc_files import DEVELOPMENT, hold_stages, writer_turns

REQUIREMENTS = Stage("requirements", "Requirements", "Engineer", "discussion", "Say what it is to do.", 2048)
LARGE = "".join(f"def report_{at}():\n    return {at}\n\n\n" for at in range(2_000))


@pytest.mark.feature("S0.46")
async def test_for_a_project_that_is_too_large_seats_get_a_map_and_file_names_with_a_notice(
    bench: Roundtable, code: Path
) -> None:
    write(code, {"reports.py": LARGE, "use.py": "from reports import report_7\n\nprint(report_7())\n", ".env": "A=1\n"})
    commit(code, "Reports")
    agreed = [{"round": "*-judge", "text": "CONSENSUS: R1 It makes slugs."}, {"round": "*-draft", "text": "R1"}]
    seats = {
        "claude": [*agreed, *writer_turns({"cli.py": "print(1)\n"})],
        "gpt": [*agreed, *writer_turns({"cli.py": "print(1)\n"})],
    }
    meeting, decision, ends = await hold_stages(
        bench, REQUIREMENTS, msgspec.structs.replace(DEVELOPMENT, rounds=1), seats=seats, existing=True
    )
    for round in ("requirements/1-draft", "development/1-write"):
        prompt = meeting.prompt(round, "gpt")
        assert "raise NotImplementedError" in prompt, "what fits is shown"
        assert "The following files are not shown; the map of the program describes them." in prompt
        assert '<answer from="unshown">\nreports.py\n</answer>' in prompt
        assert '<context from="map of the program">' in prompt
        assert "def report_1999" not in prompt
    for end in ends:
        assert (
            "Only 4 of 5 files of the project were shown to the seats; "
            "the others do not fit into their context windows." in stage_notice_sentences(end)
        )
        assert "Not read: .env is a sensitive file and is never shown to a model." in stage_notice_sentences(end)
    assert any("of 5 files of the project were shown" in sentence for sentence in notice_sentences(decision))


async def test_a_project_that_fits_is_shown_without_a_notice_on_size(bench: Roundtable) -> None:
    meeting, _, (end,) = await hold_stages(bench, DEVELOPMENT, seats={"claude": writer_turns(SUM)}, existing=True)
    assert "more than the prompt has room for" not in meeting.prompt("development/1-write", "claude")
    assert not [notice for notice in stage_notice_sentences(end) if "shown" in notice]
