"""The desk as a library: open, run, watch, steer and branch a session, hold a child meeting, find sessions."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from roundtable.app.desk import Agenda, Roundtable
from roundtable.app.settings.places import Places
from roundtable.core.effects import FilesRead, OpenChild, ReadFiles
from roundtable.core.events import Delta, MoveMade, Recorded, SessionAmended, SessionEnded, SessionOpened
from roundtable.core.faults import Fault, NotFound, UsageError
from roundtable.core.ports import Table
from roundtable.core.reasons import Said
from roundtable.core.values import Charter, Decision, Limits, Outcome, Seat
from roundtable.engine.run import Engine, MeetingRules
from roundtable.report.reasons import decision_sentence
from tests.stories.session_harness import DISPUTE, position_reply

NAMES = ("claude", "gpt", "gemini")


def seats(script: str = "table.json") -> tuple[Seat, ...]:
    return tuple(Seat(name, (f"script:{script}",)) for name in NAMES)


def write_script(workspace: Path, script: dict[str, Any], name: str = "table.json") -> None:
    (workspace / name).write_bytes(msgspec.json.encode(script))


def agenda(**more: Any) -> Agenda:
    more.setdefault("limits", Limits(retries=0))
    return Agenda("REST or GraphQL?", seats(), headless=True, **more)


AGREE: dict[str, Any] = {"defaults": {"latency": 0.02, "rate": 200}, "turns": [{"text": position_reply("Use REST")}]}


async def test_a_session_runs_from_question_to_decision(desk: Roundtable, workspace: Path) -> None:
    write_script(workspace, AGREE)
    session = await desk.meetings.open(agenda(name="api"))
    items: list[Recorded | Delta] = []

    async def follow() -> None:
        async for item in desk.sessions.watch(session, here=True):
            items.append(item)

    following = asyncio.create_task(follow())
    decision = await desk.meetings.run(session)
    await following
    assert decision.outcome is Outcome.REACHED
    facts = [item for item in items if isinstance(item, Recorded)]
    assert [fact.seq for fact in facts] == list(range(1, len(facts) + 1))
    assert isinstance(facts[-1].event, SessionEnded)
    assert {item.seat for item in items if isinstance(item, Delta)} == set(NAMES)
    assert facts == await desk.sessions.records(session)


@pytest.mark.parametrize("address", ["id", "prefix", "slug", "name", "last"])
async def test_a_session_is_found_by_id_prefix_slug_name_and_last(
    desk: Roundtable, workspace: Path, address: str
) -> None:
    write_script(workspace, AGREE)
    session = await desk.meetings.open(agenda(name="api"))
    slug = (await desk.sessions.get(session)).charter.slug
    assert slug.endswith("rest-or-graphql")
    named = {"id": session, "prefix": session[:23], "slug": slug, "name": "api", "last": "last"}[address]
    assert await desk.sessions.find(named) == session
    with pytest.raises(NotFound):
        await desk.sessions.find("nothing-like-it")


async def test_a_file_is_snapshotted_at_the_opening(desk: Roundtable, workspace: Path) -> None:
    write_script(workspace, AGREE)
    (workspace / "api.py").write_text("\n".join(f"line {number}" for number in range(1, 60)))
    session = await desk.meetings.open(agenda(files=("api.py:10-12",)))
    (workspace / "api.py").write_text("edited since")
    (item,) = (await desk.sessions.get(session)).charter.context
    assert await desk.sessions.read_blob(item.digest) == b"line 10\nline 11\nline 12"


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        (".env", "A=1", "sensitive"),
        ("keys/id_rsa", "x", "sensitive"),
        ("notes.md", "token: ghp_" + "a1B2" * 9, "secret"),
        ("../outside.txt", "x", "outside"),
        ("link", "", "outside"),
        ("absent.py", None, "no file"),
        ("binary.bin", b"\xff\xfe\x00", "as text"),
    ],
)
async def test_files_that_may_not_be_shown_are_refused_with_a_reason(
    desk: Roundtable, workspace: Path, name: str, content: str | bytes | None, complaint: str
) -> None:
    path = workspace / name
    path.parent.mkdir(exist_ok=True)
    if name == "link":
        path.symlink_to("/etc/hostname")
    elif isinstance(content, str):
        path.write_text(content)
    elif content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError) as refused:
        await desk.meetings.open(agenda(files=(name,)))
    assert complaint in refused.value.message
    assert refused.value.help
    assert await desk.sessions.list() == []


@pytest.mark.parametrize(
    "wrong",
    [
        Agenda("  ", seats()),
        Agenda("Q?", ()),
        Agenda("Q?", (*seats(), Seat("gpt", ("script:x",)))),
        Agenda("Q?", seats(), options=("one",)),
        Agenda("Q?", seats(), options=("one", "one")),
        Agenda("Q?", seats(), meeting="parliament"),
        Agenda("Q?", seats(), settings={"roundz": 3}),
    ],
)
async def test_invalid_input_is_refused_with_one_sentence(desk: Roundtable, wrong: Agenda) -> None:
    with pytest.raises(UsageError) as refused:
        await desk.meetings.open(wrong)
    assert refused.value.message.endswith(".")
    assert await desk.sessions.list() == []


async def test_a_missing_script_is_a_fault_of_its_seat(desk: Roundtable, workspace: Path) -> None:
    write_script(workspace, AGREE)
    session = await desk.meetings.open(agenda())
    await desk.close()
    (workspace / "table.json").unlink()
    async with await Roundtable.open(workspace, desk.setup.places) as later:
        decision = await later.meetings.run(session)
    assert decision.outcome is Outcome.INSUFFICIENT
    assert {absence.fault.kind for absence in decision.missing} == {"missing"}


async def test_a_meeting_whose_seats_cannot_speak_is_not_opened(desk: Roundtable) -> None:
    with pytest.raises(UsageError) as caught:
        await desk.meetings.open(agenda())
    assert caught.value.message == "0 of 3 seats can speak, but the quorum requires 2."
    assert "Seat gpt cannot speak: There is no script" in caught.value.help
    assert await desk.sessions.list() == []


async def test_a_branch_copies_the_record_and_continues_independently(desk: Roundtable, workspace: Path) -> None:
    write_script(workspace, DISPUTE)
    session = await desk.meetings.open(agenda(seed=7))
    decision = await desk.meetings.run(session)
    branch = await desk.sessions.branch(session, "council/3-reconsider")
    state = await desk.sessions.get(branch)
    assert state.charter.parent == session
    assert list(state.rounds) == ["council/1-blind", "council/2-ballot"]
    await desk.sessions.amend(branch, SessionAmended(limits=Limits(retries=0, budget_tokens=1)))
    again = await desk.meetings.run(branch)
    assert again.outcome is Outcome.TIE
    assert (await desk.sessions.get(session)).decision == decision, "the old line stays as it was"
    old = [fact.event for fact in await desk.sessions.records(session) if isinstance(fact.event, MoveMade)][:6]
    new = [fact.event for fact in await desk.sessions.records(branch) if isinstance(fact.event, MoveMade)]
    assert new == old, "nothing that was said was asked again"
    with pytest.raises(NotFound):
        await desk.sessions.branch(session, "council/9-nothing")


async def test_a_child_meeting_runs_once_and_returns_its_decision(desk: Roundtable, workspace: Path) -> None:
    write_script(workspace, AGREE)
    child_of = await desk.meetings.open(agenda())
    charter = (await desk.sessions.get(child_of)).charter
    child = msgspec.structs.replace(charter, question="And which framework?", parent="the parent")

    async def parent(table: Table) -> Decision:
        decision = await table.child("ask-the-others", child)
        return Decision(decision.outcome, how=(Said(f"The child says: {decision.position}."),))

    meeting = MeetingRules("parent", 1, parent)
    session = "01900000-0000-7000-8000-0000000000aa"
    top = msgspec.structs.replace(charter, meeting="parent", version=1)
    await desk.parts.record.append(session, SessionOpened(top))
    engine = desk.wiring.engine
    assert isinstance(engine, Engine)
    assert decision_sentence(await engine.run(session, lambda _: meeting, "test")) == "The child says: Use REST."
    assert decision_sentence(await engine.run(session, lambda _: meeting, "test")) == "The child says: Use REST."
    assert len([row for row in await desk.sessions.list() if row.question == "And which framework?"]) == 1


async def test_cancelling_a_meeting_cancels_its_child_meeting(desk: Roundtable, workspace: Path) -> None:
    write_script(workspace, {"turns": [{"hang": True}]})
    charter = (await desk.sessions.get(await desk.meetings.open(agenda()))).charter
    child = msgspec.structs.replace(charter, question="And which framework?")

    async def parent(table: Table) -> Decision:
        decision = await table.child("ask-the-others", child)
        return Decision(decision.outcome, how=(Said("The child went on."),))

    session = "01900000-0000-7000-8000-0000000000bb"
    await desk.parts.record.append(
        session, SessionOpened(msgspec.structs.replace(charter, meeting="parent", version=1))
    )
    run = asyncio.create_task(desk.wiring.engine.run(session, lambda _: MeetingRules("parent", 1, parent), "test"))

    async def speaking_child() -> str:
        while True:
            for row in await desk.sessions.list():
                if row.parent == session and (await desk.sessions.get(row.id)).rounds:
                    return row.id
            await desk.sessions.wait_for_facts(session, 10_000, 0.05)

    child_id = await asyncio.wait_for(speaking_child(), 10)
    await desk.sessions.cancel(session)
    assert (await asyncio.wait_for(run, 10)).outcome is Outcome.CANCELLED
    assert (await desk.sessions.get(child_id)).status == "cancelled"


async def test_reading_files_for_seats_names_the_refused_ones(desk: Roundtable, workspace: Path) -> None:
    (workspace / "a.py").write_text("print(1)\n")
    (workspace / ".env").write_text("KEY=1")
    write_script(workspace, AGREE)
    session = await desk.meetings.open(agenda())
    result = await desk.wiring.performer.perform(f"{session}/step", ReadFiles(("a.py", ".env", "../x")))
    assert isinstance(result, FilesRead)
    assert [item.name for item in result.items] == ["a.py"]
    assert set(result.refused) == {".env", "../x"}


async def test_a_child_meeting_that_cannot_run_is_a_fault(desk: Roundtable) -> None:
    charter = Charter("Q", seats(), "no-such-meeting", 1)
    result = await desk.wiring.performer.perform("step", OpenChild(charter))
    assert isinstance(result, Fault)
    assert "no-such-meeting" in result.message


async def test_another_process_can_follow_a_running_session(places: Places, workspace: Path) -> None:
    slow = {
        "defaults": {"latency": 0.05, "rate": 60},
        "turns": [{"text": position_reply("Use REST", text="a word " * 30)}],
    }
    write_script(workspace, slow)
    async with await Roundtable.open(workspace, places) as running, await Roundtable.open(workspace, places) as other:
        session = await running.meetings.open(agenda())
        run = asyncio.create_task(running.meetings.run(session))
        heard: list[Recorded | Delta] = []
        async with asyncio.timeout(20):
            async for item in other.sessions.watch(session):
                heard.append(item)
        await run
    facts = [item for item in heard if isinstance(item, Recorded)]
    assert [fact.seq for fact in facts] == list(range(1, len(facts) + 1))
    texts: dict[str, str] = {}
    for item in heard:
        if isinstance(item, Delta):
            texts[item.seat] = texts.get(item.seat, "")[: item.offset] + item.text
    assert texts
    assert all(text.startswith("a word a word") for text in texts.values())


def test_sockets_of_homes_with_long_paths_share_one_folder(tmp_path: Path) -> None:
    homes = [Places(home, home) for home in (tmp_path / ("long" * 30) / str(number) for number in range(3))]
    sockets = {places.socket("0199-one-session") for places in homes}
    assert len(sockets) == 3
    assert len({path.parent for path in sockets}) == 1


async def test_keys_never_reach_the_record(places: Places, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-known-shape-8472")
    write_script(
        workspace, {"turns": [{"text": position_reply("Use REST", text="The key is not-a-known-shape-8472, sorry.")}]}
    )
    async with await Roundtable.open(workspace, places) as desk:
        session = await desk.meetings.open(agenda())
        decision = await desk.meetings.run(session)
        await desk.sessions.say(session, "use not-a-known-shape-8472")
    assert "not-a-known-shape-8472" not in decision.text
    for file in places.data.rglob("*"):
        if file.is_file():
            assert b"not-a-known-shape-8472" not in file.read_bytes(), file
