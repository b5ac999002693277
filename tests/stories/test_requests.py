"""Requests of seats for files and checks are served between the rounds and shown to all seats."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from roundtable.app.desk import Places, Roundtable
from roundtable.core.effects import FilesRead
from roundtable.core.values import Outcome
from roundtable.report.step_words import describe_step_result
from tests.repository import repository, sandbox, write
from tests.stories.desk_meeting import DeskMeeting, doctor_turn, knight_turn
from tests.stories.kill_and_resume import kill_meeting_after_every_fact
from tests.stories.session_harness import SESSION, SessionHarness

NAMED: dict[str, Any] = {"files": ("src/auth/token.py:1-2",)}
FILES = {
    "src/auth/token.py": "".join(f"line {number} of the token\n" for number in range(1, 101)),
    ".gitignore": "private/\n",
    "private/diary.md": "dear diary",
    ".env": "PASSWORD=tulip",
}


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Roundtable]:
    work = repository(tmp_path / "work", FILES)
    home = tmp_path / "home"
    check = f"broken = {json.dumps([sys.executable, '-c', 'print(6 * 7); raise SystemExit(3)'])}"
    write(home, {"config.toml": f"[context]\ntokens = 2_000\n[checks]\n{check}\n"})
    async with await Roundtable.open(work, Places(home, home)) as opened:
        yield opened


@pytest.mark.feature("S3.59", "S3.69")
async def test_a_file_that_one_knight_requests_is_shown_to_all_in_the_next_round(desk: Roundtable) -> None:
    meeting = DeskMeeting(
        desk,
        claude=[knight_turn(7, file_requests=["src/auth/token.py:10-12"]), knight_turn(9)],
        gpt=[knight_turn(8), knight_turn(9)],
    )
    decision = await meeting.hold("knights", **NAMED)
    assert decision.outcome is Outcome.REACHED
    for seat in ("claude", "gpt"):
        assert "line 11 of the token" not in meeting.prompt("knights/1-speak", seat)
        prompt = meeting.prompt("knights/2-respond", seat)
        assert '<context from="src/auth/token.py:10-12">\nline 10 of the token' in prompt
        assert "line 13 of the token" not in prompt


@pytest.mark.feature("S3.67")
async def test_doctors_can_request_files_in_their_diagnosis(desk: Roundtable) -> None:
    meeting = DeskMeeting(
        desk,
        claude=[doctor_turn(3, "src/auth/token.py:90-91", "src/none.py"), doctor_turn(9), doctor_turn(9)],
        gpt=[doctor_turn(4), doctor_turn(9), doctor_turn(9)],
    )
    await meeting.hold("code-red", **NAMED)
    for seat in ("claude", "gpt"):
        prompt = meeting.prompt("code-red/2-blind", seat)
        assert "line 90 of the token" in prompt
        assert "Not shown: src/none.py. There is no file src/none.py" in prompt


async def test_requests_for_sensitive_ignored_and_outside_files_are_refused_by_name(desk: Roundtable) -> None:
    wanted = [".env", "private/diary.md", "../home/config.toml", "/etc/hostname", "src/auth/token.py:1-1"]
    meeting = DeskMeeting(
        desk, claude=[knight_turn(7, file_requests=wanted), knight_turn(9)], gpt=[knight_turn(8), knight_turn(9)]
    )
    await meeting.hold("knights", **NAMED)
    (result,) = await meeting.served()
    assert [item.name for item in result.items] == wanted[-1:] if isinstance(result, FilesRead) else False
    prompt = meeting.prompt("knights/2-respond", "gpt")
    assert "Not shown: .env. .env is a sensitive file and is never shown to a model." in prompt
    ignored = "private/diary.md is ignored by git or by `ignore` in the [context] section of the config."
    assert f"Not shown: private/diary.md. {ignored}" in prompt
    assert prompt.count("is outside the workspace") == 2
    assert "tulip" not in prompt
    assert "dear diary" not in prompt


async def test_file_requests_share_one_size_limit_per_session(desk: Roundtable) -> None:
    write(desk.workspace, {"a.txt": "a" * 5_000, "b.txt": "b" * 5_000, "c.txt": "c" * 1_000})
    meeting = DeskMeeting(
        desk,
        claude=[
            knight_turn(7, file_requests=["a.txt"]),
            knight_turn(7, file_requests=["b.txt", "c.txt"]),
            knight_turn(9),
        ],
        gpt=[knight_turn(8), knight_turn(8), knight_turn(9)],
    )
    await meeting.hold("knights", **NAMED)
    first, second = await meeting.served()
    assert first.refused == {}
    assert "b.txt has 5,000 bytes, more than the prompt has room for" in second.refused["b.txt"]
    assert "c" * 1_000 in meeting.prompt("knights/3-respond", "gpt")


@pytest.mark.feature("S4.27")
async def test_output_of_a_requested_check_is_shown_to_every_seat_in_the_next_round(desk: Roundtable) -> None:
    await sandbox()
    meeting = DeskMeeting(
        desk,
        claude=[knight_turn(7, checks=["broken", "rm -rf ."]), knight_turn(9)],
        gpt=[knight_turn(8), knight_turn(9)],
    )
    await meeting.hold("knights", **NAMED)
    for seat in ("claude", "gpt"):
        assert "no others: broken." in meeting.prompt("knights/1-speak", seat)
        prompt = meeting.prompt("knights/2-respond", seat)
        assert '<check from="broken">' in prompt
        assert "ended with exit code 3.\n42\n</check>" in prompt
        assert "Not shown: rm -rf .. There is no check with that name." in prompt
    (result,) = await meeting.served()
    assert describe_step_result(result).startswith("Check broken ended with exit code 3 after ")
    assert "Refused: rm -rf . (There is no check with that name. Available checks: broken)." in describe_step_result(
        result
    )


async def test_a_resumed_meeting_serves_no_request_twice() -> None:
    wants = {"file_requests": ["src/auth/token.py:10-12"], "checks": ["unlisted"]}
    script = {
        "seats": {
            "claude": {"turns": [knight_turn(7, **wants), knight_turn(9)]},
            "gpt": {"turns": [knight_turn(8), knight_turn(9)]},
        }
    }
    whole = SessionHarness(script, meeting="knights")
    await whole.open(seats=tuple(script["seats"]))
    await whole.run()
    assert whole.performer.performed == [f"{SESSION}/knights/1-speak/{name}" for name in ("files", "checks")]
    await kill_meeting_after_every_fact(script, "knights", seats=tuple(script["seats"]))
