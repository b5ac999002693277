"""The shorter stage lists, from the first reply of Claude, GPT and Gemini to the result."""

from __future__ import annotations

import pytest

from roundtable.app.desk import Roundtable
from roundtable.core.effects import ProjectRan
from roundtable.core.session import Session
from roundtable.core.stage_history import session_stage_ends
from roundtable.core.stages import encode_session_stages
from roundtable.core.values import Outcome
from tests.stories.account_candidates import ACCOUNTS, MERGED_ACCOUNTS
from tests.stories.desk_meeting import DeskMeeting, Turns
from tests.stories.slug_project import files_reply, merge_verdict
from tests.stories.test_sdlc_files import IDEA, YES, files_after_stage
from tests.stories.test_sdlc_results import AGREED, seats
from tests.stories.test_sdlc_review import findings_reply

SOUND: Turns = [{"round": "*-chunk", "text": findings_reply()}]
"""What a seat says that finds nothing wrong."""
PLANNED: Turns = [
    {"round": "architecture/*-judge", "text": "CONSENSUS: One file, accounts.py."},
    {"round": "architecture/*", "text": "One file."},
]


async def hold_stages(bench: Roundtable, way: str, table: dict[str, Turns]) -> tuple[DeskMeeting, Session]:
    """Run a list of stages with advance answers and return how the session ended."""
    meeting = DeskMeeting(bench, **table)
    settings = {"stages": encode_session_stages(bench.meetings.find_stages(way))}
    decision = await meeting.hold("sdlc", IDEA, settings=settings, answers=YES, seed=7)
    assert decision.outcome is Outcome.REACHED
    return meeting, await bench.sessions.get(meeting.session)


@pytest.mark.feature("S0.3", "S0.49")
async def test_the_stages_code_write_and_review_candidates_and_the_best_wins(bench: Roundtable) -> None:
    """Claude's candidate does not parse; the judge prefers Gemini's among the other two."""
    code = {**ACCOUNTS, "claude": ACCOUNTS["claude"].replace("def add(", "def add((")}
    table = {
        seat: [
            {"round": "*-judge", "text": merge_verdict("candidate-C")},
            {"round": "*-write", "text": files_reply({"accounts.py": text})},
            *SOUND,
        ]
        for seat, text in code.items()
    }
    meeting, session = await hold_stages(bench, "code", table)
    assert list(session.rounds) == ["development/1-write", "development/1-judge", "code-review/1-chunk"]
    judged = next(call for call in meeting.voices.calls if "-judge" in call.call)
    assert "def add((" not in "".join(message.text for message in judged.messages), "what cannot run is not chosen from"
    development, review = session_stage_ends(session)
    assert (development.how, development.base) == ("agreed", "gemini")
    assert await files_after_stage(bench, review) == {"accounts.py": ACCOUNTS["gemini"]}


@pytest.mark.feature("S0.1", "S0.50")
async def test_the_stages_no_docker_go_from_requirements_to_tests_without_running_a_program(
    bench: Roundtable,
) -> None:
    table = {name: [*PLANNED, *SOUND, *turns] for name, turns in seats().items()}
    meeting, session = await hold_stages(bench, "no-docker", table)
    speakers = {name: sorted(move.seat for move in round.moves()) for name, round in session.rounds.items()}
    everybody = ["claude", "gemini", "gpt"]
    assert speakers == {
        "requirements/1-draft": everybody,
        "requirements/1-judge": ["claude"],
        "architecture/1-draft": everybody,
        "architecture/1-judge": ["gpt"],
        "development/1-write": everybody,
        "development/1-judge": ["gemini"],
        "code-review/1-chunk": everybody,
        "qa/1-write": everybody,
        "qa/1-judge": ["gpt"],
    }
    assert AGREED in meeting.prompt("development/1-write", "gemini")
    section = meeting.prompt("qa/1-write", "gpt")
    assert '<answer from="decisions: D2 architecture">\nOne file, accounts.py.\n</answer>' in section
    wrote = "Files written: accounts.py.\nThe judge chose one candidate as the base and asked for these additions:\n"
    assert f'<answer from="decisions: D3 development">\n{wrote}' in section
    ends = session_stage_ends(session)
    assert [end.how for end in ends] == ["agreed"] * 5
    assert not any(isinstance(result, ProjectRan) for result in session.results.values())
    assert sorted(await files_after_stage(bench, ends[-1])) == ["accounts.py", "test_accounts.py"]
    assert (await files_after_stage(bench, ends[-1]))["accounts.py"] == MERGED_ACCOUNTS
