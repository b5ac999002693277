"""The workshop writes only what a person approved on the record."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from roundtable.app.desk import Roundtable
from roundtable.core.changeset import Changeset, ReplaceFile
from roundtable.core.effects import (
    ApplyChange,
    CandidatesTried,
    ChangeApplied,
    ChangePlanned,
    ChangeRehearsed,
    DraftMove,
    Effect,
    MoveDrafted,
    PlanChange,
    RehearseChange,
    TryCandidates,
)
from roundtable.core.events import (
    AnswerSource,
    EffectDone,
    EffectStarted,
    Event,
    GateAnswered,
    GateOpened,
    MoveMade,
    RoundOpened,
    SessionAmended,
    SessionOpened,
)
from roundtable.core.faults import Fault, FaultKind
from roundtable.core.ports import Lease
from roundtable.core.refusals import RefusalKind
from roundtable.core.values import Charter, ContextItem, Expect, Gate, Prompt, Seat, Turns, compute_digest
from roundtable.workshop.edit.draft import apply_changeset_in_memory
from roundtable.workshop.edit.stored_drafts import DraftStore
from tests.repository import commit, repository, write

APPROVE = Gate("approve", "Write it?", ("all", "some", "ask", "none"), "none", writes=True)
DESTROY = Gate("destroy", "Sure?", ("confirm", "no"), "no", writes=True)
SESSION = "01900000-0000-7000-8000-000000000001"


class Bench:
    """A session with a hand-written record, and the real performer."""

    def __init__(self, desk: Roundtable, lease: Lease) -> None:
        self.desk = desk
        self._lease = lease

    async def record(self, *events: Event) -> None:
        await self.desk.parts.record.append_many(SESSION, events, self._lease)

    async def draft(self, **texts: str) -> str:
        wanted = Changeset(tuple(ReplaceFile(f"{name}.py", text) for name, text in texts.items()))
        return await DraftStore(self.desk.parts.record).save(
            apply_changeset_in_memory(wanted, self.desk.workspace, self.desk.redactor.finds).files
        )

    async def planned(self, draft: str) -> ChangePlanned:
        shown = await self.perform("build/plan", PlanChange(draft))
        assert isinstance(shown, ChangePlanned)
        await self.record(EffectStarted("build/plan", PlanChange(draft)), EffectDone("build/plan", shown))
        return shown

    async def perform(self, step: str, effect: Effect) -> object:
        return await self.desk.wiring.performer.perform(f"{SESSION}/{step}", effect)

    async def refused(self, draft: str, gate: str = "approve") -> str:
        said = await self.perform("build/execute", ApplyChange(draft, gate))
        assert isinstance(said, Fault)
        assert said.kind is FaultKind.PERMISSION
        assert (self.desk.workspace / "a.py").read_text() == "a = 1\n"
        return said.message


@pytest.fixture
async def bench(desk: Roundtable, workspace: Path) -> Bench:
    (workspace / ".git").rmdir()
    repository(workspace, {"a.py": "a = 1\n", "b.py": "b = 1\n"})
    charter = Charter("Change a.", (Seat("claude", ("script:x",)),), "build", 1)
    await desk.parts.record.append(SESSION, SessionOpened(charter))
    lease, _ = await desk.parts.leases.acquire(SESSION, "test")
    return Bench(desk, lease)


@pytest.mark.parametrize("answer", ["", "none", "ask"])
async def test_without_approval_nothing_is_written(bench: Bench, answer: str) -> None:
    draft = await bench.draft(a="a = 2\n")
    await bench.planned(draft)
    await bench.record(GateOpened(APPROVE), *([GateAnswered("approve", answer, by="anna")] if answer else []))
    assert await bench.refused(draft) == "The change was not approved at gate approve."
    assert await bench.refused(draft, "other") == "The change was not approved at gate other."


async def test_approval_at_another_gate_does_not_allow_writing(bench: Bench) -> None:
    draft = await bench.draft(a="a = 2\n")
    await bench.planned(draft)
    talk = Gate("decide", "Which?", ("all", "none"), "none")
    await bench.record(GateOpened(talk), GateAnswered("decide", "all", by="anna"))
    assert await bench.refused(draft, "decide") == "The change was not approved at gate decide."


async def test_approval_covers_only_the_draft_that_was_shown(bench: Bench) -> None:
    shown, other = await bench.draft(a="a = 2\n"), await bench.draft(a="a = 3\n")
    await bench.planned(shown)
    await bench.record(GateOpened(APPROVE), GateAnswered("approve", "all", by="anna"))
    assert await bench.refused(other) == "The files to write differ from the approved ones."
    assert isinstance(await bench.perform("build/execute", ApplyChange(shown, "approve")), ChangeApplied)
    assert (bench.desk.workspace / "a.py").read_text() == "a = 2\n"


async def test_approval_of_some_hunks_writes_only_those(bench: Bench) -> None:
    shown = await bench.draft(a="a = 2\n", b="b = 2\n")
    await bench.planned(shown)
    choice = json.dumps({"rejected": ["a.py#1"]})
    await bench.record(GateOpened(APPROVE), GateAnswered("approve", "some", choice, by="anna"))
    assert await bench.refused(shown) == "The files to write differ from the approved ones."
    left = await bench.draft(b="b = 2\n")
    assert isinstance(await bench.perform("build/execute", ApplyChange(left, "approve")), ChangeApplied)
    assert (bench.desk.workspace / "a.py").read_text() == "a = 1\n"
    assert (bench.desk.workspace / "b.py").read_text() == "b = 2\n"


async def test_approval_of_some_hunks_must_name_them(bench: Bench) -> None:
    shown = await bench.draft(a="a = 2\n")
    await bench.planned(shown)
    await bench.record(
        GateOpened(APPROVE), GateAnswered("approve", "some", by="answered in advance", source=AnswerSource.ADVANCE)
    )
    assert await bench.refused(shown) == "The answer does not say which hunks are approved."


async def test_a_permanent_deletion_needs_its_recorded_phrase(bench: Bench) -> None:
    write(bench.desk.workspace, {"c.py": "".join(f"c{number} = 1\n" for number in range(9))})
    shown = await bench.draft(c="")
    plan = await bench.planned(shown)
    assert plan.destroys
    assert plan.phrase
    await bench.record(GateOpened(APPROVE), GateAnswered("approve", "all", by="anna"))
    await bench.record(GateOpened(DESTROY), GateAnswered("destroy", "confirm", "yes, yes", by="anna"))
    assert await bench.refused(shown) == "Nobody confirmed this: c.py is emptied."
    again = Gate("destroy-2", "Sure?", ("confirm", "no"), "no", writes=True)
    await bench.record(GateOpened(again), GateAnswered("destroy-2", "confirm", plan.phrase, by="anna"))
    assert await bench.refused(shown) == "Nobody confirmed this: c.py is emptied."
    rehearsed = ChangeRehearsed(shown, destroys=plan.destroys, phrase=plan.phrase)
    step = "build/rehearse"
    await bench.record(EffectStarted(step, RehearseChange(shown)), EffectDone(step, rehearsed))
    assert isinstance(await bench.perform("build/execute", ApplyChange(shown, "approve")), ChangeApplied)


async def test_files_changed_since_they_were_shown_are_not_overwritten(bench: Bench) -> None:
    shown = await bench.draft(a="a = 2\n")
    await bench.planned(shown)
    await bench.record(GateOpened(APPROVE), GateAnswered("approve", "all", by="anna"))
    (bench.desk.workspace / "a.py").write_text("a = 7\n")
    said = await bench.perform("build/execute", ApplyChange(shown, "approve"))
    assert isinstance(said, Fault)
    assert "a.py has changed since it was drafted" in said.message
    assert (bench.desk.workspace / "a.py").read_text() == "a = 7\n"


async def test_an_interrupted_step_that_already_wrote_is_not_repeated(bench: Bench) -> None:
    shown = await bench.draft(a="a = 2\n")
    await bench.planned(shown)
    await bench.record(GateOpened(APPROVE), GateAnswered("approve", "all", by="anna"))
    effect, key = ApplyChange(shown, "approve"), f"{SESSION}/build/execute"
    assert await bench.desk.wiring.performer.recover(key, effect) is None, "nothing was written yet"
    written = await bench.desk.wiring.performer.perform(key, effect)
    assert isinstance(written, ChangeApplied)
    assert await bench.desk.wiring.performer.recover(key, effect) == written


async def test_a_seat_cannot_change_files_outside_its_scope(bench: Bench) -> None:
    written = "```python path=a.py\na = 2\n```\n\n```python path=b.py\nb = 2\n```\n"
    name = "build/3-refine"
    opened = RoundOpened(name, ("claude",), ("claude",), Turns(), Expect("changes"), Prompt("refine"), "sha256:0")
    await bench.record(opened, MoveMade(name, "claude", "call", written, "script:x"))
    everywhere = await bench.perform(f"{name}/draft", DraftMove(name, "claude"))
    assert isinstance(everywhere, MoveDrafted)
    assert everywhere.files == ("a.py", "b.py")
    narrow = await bench.perform(f"{name}/draft", DraftMove(name, "claude", scope=("a.py",)))
    assert isinstance(narrow, MoveDrafted)
    assert narrow.files == ("a.py",)
    assert [(refusal.path, refusal.kind) for refusal in narrow.refused] == [("b.py", RefusalKind.OUT_OF_SCOPE)]


async def _written(bench: Bench, text: str) -> TryCandidates:
    """Return the events of a round in which claude wrote this candidate."""
    name = "build/1-propose"
    opened = RoundOpened(name, ("claude",), ("claude",), Turns(), Expect("changes"), Prompt("propose"), "sha256:0")
    await bench.record(opened, MoveMade(name, "claude", "call", text, "script:x"))
    return TryCandidates((name,), ("claude",))


async def test_a_binary_test_file_may_be_renamed(bench: Bench) -> None:
    (bench.desk.workspace / "test_data.txt").write_bytes(b"na\xefve\n")
    commit(bench.desk.workspace, "Data")
    effect = await _written(bench, "```python path=a.py\na = 2\n```\n\nRENAME test_data.txt -> test_daten.txt\n")
    tried = await bench.perform("build/try", effect)
    assert isinstance(tried, CandidatesTried)
    assert tried.candidates[0].files == ("a.py", "test_daten.txt")
    assert tried.candidates[0].refused == ()


async def test_a_full_disk_is_reported_in_one_sentence(bench: Bench) -> None:
    write(bench.desk.workspace, {"large.txt": "x" * 9_000_000})
    effect = await _written(bench, "```python path=a.py\na = 2\n```\n")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8_000_000, hard))
    try:
        said = await bench.perform("build/try", effect)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert isinstance(said, Fault)
    assert said.message == "I/O error: File too large."
    assert "Check the free disk space" in said.help


async def test_an_internal_error_is_reported_and_does_not_block_the_session(bench: Bench) -> None:
    said = await bench.perform("build/draft", DraftMove("no-such-round", "claude"))
    assert isinstance(said, Fault)
    assert said.message.startswith("Internal error in DraftMove: KeyError in workshop_effects.py, line ")
    assert said.help.startswith("Please report this bug.")


def test_opening_the_desk_does_not_load_the_code_tools() -> None:
    looks = "import sys, roundtable.app.desk; print([it for it in ('tree_sitter', 'doctest') if it in sys.modules])"
    done = subprocess.run([sys.executable, "-c", looks], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("reply", "refused"),
    [
        ("```python path=a.py\na = 2\n```", [RefusalKind.STALE]),
        ("DELETE a.py", [RefusalKind.STALE]),
        ("RENAME a.py -> c.py\n\n```python path=c.py\na = 2\n```", [RefusalKind.STALE]),
        ("```python path=a.py\n<<<<<<< SEARCH\na = 1\n=======\na = 2\n>>>>>>> REPLACE\n```", []),
        ("```python path=b.py\nb = 2\n```", []),
    ],
)
async def test_commits_made_meanwhile_are_not_overwritten(bench: Bench, reply: str, refused: list[RefusalKind]) -> None:
    shown = tuple(ContextItem(f"{name}.py", compute_digest(f"{name} = 1\n".encode())) for name in "ab")
    await bench.record(SessionAmended(context_added=shown))
    write(bench.desk.workspace, {"a.py": "a = 1\nmore = 1\n"})
    commit(bench.desk.workspace, "More")
    tried = await bench.perform("build/try", await _written(bench, reply))
    assert isinstance(tried, CandidatesTried)
    assert [refusal.kind for refusal in tried.candidates[0].refused][:1] == refused
