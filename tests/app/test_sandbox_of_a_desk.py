"""The sandbox of a desk: what it hides, what the record says about its limits, and that no secret leaves it."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from roundtable.app.desk import Agenda, Places, Roundtable
from roundtable.app.wiring import Wiring
from roundtable.core.effects import CandidatesTried, ChangeRehearsed, ChecksRun
from roundtable.core.events import Delta
from roundtable.core.ports import Sandbox
from roundtable.core.sandbox import Job, Resource
from roundtable.core.text.redaction import Redactor
from roundtable.core.values import Seat
from roundtable.report.reasons import decision_sentence
from roundtable.report.step_words import describe_step_result
from roundtable.workshop.sandbox import run_sandbox_job
from roundtable.workshop.sandbox.bubblewrap import BubblewrapSandbox, LimitTools
from roundtable.workshop.trial.listed_checks import ListedChecks
from tests.repository import own_python, repository, sandbox, write
from tests.stories.desk_meeting import DeskMeeting
from tests.stories.slug_project import files_reply

KEY = "tulips-and-daffodils-and-roses"
LIMITS = "memory, processes, processors, files"
CHECK = 'out=$(python3 -c "import calc; print(calc.double(2))")\n[ "$out" = 4 ] || { echo "got $out"; exit 1; }\n'


@pytest.fixture
async def unlimited() -> Sandbox:
    """A sandbox that enforces no limit, as on a machine without control groups and tools."""
    await sandbox()
    program = shutil.which("bwrap")
    assert program is not None
    return BubblewrapSandbox(program, ("--proc", "/proc", "--remount-ro", "/proc"), LimitTools(groups=False))


@pytest.fixture
def project(workspace: Path, tmp_path: Path) -> Path:
    """A project with a check of its own, and a config that lists it."""
    write(tmp_path / "home", {"config.toml": '[checks]\nanswer = ["sh", "check.sh"]\n'})
    repository(workspace, {"calc.py": "def double(n):\n    return n\n", "check.sh": CHECK})
    own_python(workspace)
    return workspace


async def test_programs_of_a_desk_do_not_see_its_record_and_config(workspace: Path) -> None:
    await sandbox()
    places = Places(workspace / "data", workspace / "config")
    write(workspace, {"data/roundtable.db": "", "config/secrets.key": "the seal", "data/secrets/openai": "a key"})
    (places.data / "roundtable.db").unlink()
    wiring = await Wiring.open(workspace, places)
    try:
        box = await wiring.parts.find_sandbox()
    finally:
        await wiring.close()
    assert not isinstance(box, str)
    assert places.database.exists()
    program = f"import os; print([os.listdir(path) for path in {[str(places.data), str(places.config)]}])"
    for copied in (False, True):
        end = await run_sandbox_job(box, Job((sys.executable, "-c", program), str(workspace), copied=copied))
        assert end.output == b"[[], []]\n"


async def test_the_result_of_checks_records_the_limits_that_were_not_enforced(
    workspace: Path, unlimited: Sandbox
) -> None:
    async def find() -> Sandbox:
        return unlimited

    ran = await ListedChecks({"it": ("true",)}, workspace, Redactor(), find=find).run(("it",))
    assert ran.unenforced == tuple(Resource)
    assert f"Limits not enforced: {LIMITS}." in describe_step_result(ran)
    assert "Limits" not in describe_step_result(ChecksRun(ran.outcomes))


async def test_the_record_and_the_decision_of_a_build_say_which_limits_were_not_enforced(
    project: Path, places: Places, unlimited: Sandbox
) -> None:
    reply = files_reply({"calc.py": "def double(n):\n    return 2 * n\n"})
    write(places.data, {"s.json": json.dumps({"seats": {"claude": {"turns": [{"text": reply}]}}})})
    agenda = Agenda(
        "Make double() return twice its argument.",
        (Seat("claude", (f"script:{places.data / 's.json'}",)),),
        meeting="build",
        headless=True,
        answers={"approve": "all"},
    )
    async with await Roundtable.open(project, places, sandbox=unlimited) as desk:
        opened = await desk.meetings.open(agenda)
        decision = await desk.meetings.run(opened)
        session = await desk.sessions.get(opened)
    results = list(session.results.values())
    (tried,) = [result for result in results if isinstance(result, CandidatesTried)]
    (rehearsed, *_) = [result for result in results if isinstance(result, ChangeRehearsed)]
    assert tried.sandbox == f"bubblewrap, limits not enforced: {LIMITS}"
    assert f"run in bubblewrap, limits not enforced: {LIMITS}." in decision_sentence(decision)
    assert rehearsed.unenforced == tuple(Resource)
    assert f"Limits not enforced: {LIMITS}." in describe_step_result(rehearsed)


async def test_a_key_that_a_candidate_prints_is_neither_recorded_nor_sent_nor_shown(
    project: Path, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    await sandbox()
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    printing = f"def double(n):\n    return {KEY[::-1]!r}[::-1]\n"
    async with await Roundtable.open(project, places) as desk:
        assert desk.redactor.redact(KEY) == "[redacted:known-key]"
        meeting = DeskMeeting(desk, claude=[{"text": files_reply({"calc.py": printing})}])
        await meeting.open("build", "Make double() return twice its argument.", answers={"approve": "all"})
        feed = (await meeting.table()).wiring.parts.feed
        reader = feed.subscribe(meeting.session)
        await meeting.hold("build")
        feed.unsubscribe(meeting.session, reader)
        shown = "".join([entry.text async for batch in reader.batches() for entry in batch if isinstance(entry, Delta)])
        session = await desk.sessions.get(meeting.session)
    (tried,) = [result for result in session.results.values() if isinstance(result, CandidatesTried)]
    assert "got [redacted:known-key]" in tried.candidates[0].checks[0].output
    sent = "\n".join(message.text for call in meeting.voices.calls for message in call.messages)
    assert "got [redacted:known-key]" in sent
    stored = b"".join(path.read_bytes() for path in places.data.rglob("*") if path.is_file())
    assert "got [redacted:known-key]" in shown
    for text in (sent.encode(), shown.encode(), stored):
        assert KEY.encode() not in text
