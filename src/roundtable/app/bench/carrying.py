"""Carries a draft to the workspace: held against it, rehearsed beside it, written to it once a person has said yes."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from roundtable.app.bench.drafts import Drafts, since
from roundtable.app.bench.trying import Made, Trying, asker, own_tests, tests_of
from roundtable.core.changes import Changeset, Choice, Refusal, RefusalKind
from roundtable.core.effects import Applied, ApplyChange, CheckOutcome, PlanChange, Planned, Rehearse, Rehearsed
from roundtable.core.events import AHEAD, EffectStarted, GateAnswered, GateOpened, Recorded
from roundtable.core.faults import Fault, FaultKind
from roundtable.core.ports import Sandbox
from roundtable.core.session import Session
from roundtable.core.values import Digest, digest_of
from roundtable.core.views.changes import authors_of
from roundtable.core.wording import many
from roundtable.workshop.applying import Receipt, applied, receipt_of
from roundtable.workshop.beneath import Beneath, Content
from roundtable.workshop.committing import Commit, Repository, repository_trouble
from roundtable.workshop.drafting import Written, drafted
from roundtable.workshop.hunks import chosen, hunks_of
from roundtable.workshop.rehearsing import committed_tree, lost_hunks, uncommitted_beside
from roundtable.workshop.sandbox.owners import own_folder
from roundtable.workshop.trials import BEFORE, Tell
from roundtable.workshop.validating import destroyed, objections

_DRAFT = "draft"


class NotAllowed(Exception):
    """The record does not hold the yes that this would need; the message says what it lacks."""


class Carrying:
    """The way of a draft into one workspace."""

    def __init__(self, drafts: Drafts, trying: Trying, workspace: Path, journals: Path) -> None:
        self._drafts = drafts
        self._trying = trying
        self._workspace = workspace
        self._journals = journals

    async def plan(self, session: Session, effect: PlanChange) -> Planned:
        """The hunks, and what stands against them now."""
        files = await self._drafts.files(effect.draft)
        asked = _asked(session)
        hunks = tuple(
            it if _is_named(it.path, asked) else msgspec.structs.replace(it, asked_by="")
            for it in await asyncio.to_thread(hunks_of, files)
        )
        refused = await asyncio.to_thread(self._against, files)
        lost = await asyncio.to_thread(destroyed, files, self._workspace)
        unasked = tuple(it.id for it in hunks if not it.asked_by)
        return Planned(hunks, refused, lost, _phrase(files) if lost else "", unasked)

    def _against(self, files: Sequence[Written]) -> tuple[Refusal, ...]:
        """What was drafted must still fit, be valid, and touch nothing that is not committed."""
        drafting = drafted(Changeset(()), self._workspace, files)
        return (*drafting.refused, *objections(files), *_uncommitted(files, self._workspace))

    async def rehearse(self, effect: Rehearse, sandbox: Sandbox, tell: Tell) -> Rehearsed:
        """What was chosen, in a scratch tree that holds what its commit would, under the workspace's checks."""
        planned = await self._drafts.files(effect.draft)
        files = await asyncio.to_thread(_taken, planned, effect.choice)
        if isinstance(files, Refusal):
            return Rehearsed("", refused=(files,))
        refused = await asyncio.to_thread(self._against, files)
        if refused or not files:
            return Rehearsed("", refused=refused or (_nothing(),))
        over = await self._drafts.files(effect.over)
        lost: list[str] = []

        def merged(workspace: Path, into: Path, files: Sequence[Written]) -> None:
            committed_tree(workspace, into, files)
            lost.extend(lost_hunks(into, files))

        checks, before = await self._checked(files, over, sandbox, tell, merged)
        draft = effect.draft
        if effect.choice:
            draft = await self._drafts.keep(files)
        return Rehearsed(
            draft,
            checks,
            before,
            tuple(lost),
            destroys=await asyncio.to_thread(destroyed, files, self._workspace),
            leans=await self._leaning(files, over, checks, sandbox, tell),
        )

    async def _checked(
        self,
        files: Sequence[Written],
        over: Sequence[Written],
        sandbox: Sandbox,
        tell: Tell,
        made: Made | None = None,
    ) -> tuple[tuple[CheckOutcome, ...], tuple[CheckOutcome, ...]]:
        """The workspace's checks with a draft and without; with it, its tests in Python too, checks or not."""
        tests = {path: text for path, text in tests_of(since(over, files)).items() if path.endswith(".py")}
        trials = await self._trying.ran({BEFORE: over, _DRAFT: files}, sandbox, tell, {_DRAFT: tests}, made=made)
        unrun = {path: False for path, text in tests.items() if "def test" in text}
        checks = (*trials.checks.get(_DRAFT, ()), *own_tests(trials.tests.get(_DRAFT) or unrun))
        return self._trying.clean(checks), self._trying.clean(trials.checks.get(BEFORE, ()))

    async def _leaning(
        self,
        files: Sequence[Written],
        over: Sequence[Written],
        checks: Sequence[CheckOutcome],
        sandbox: Sandbox,
        tell: Tell,
    ) -> tuple[str, ...]:
        """What else is not committed, if a check that fails without it passes in the workspace as it is."""
        failed = {it.name for it in checks if not it.passed}
        beside = await asyncio.to_thread(uncommitted_beside, self._workspace, files) if failed else ()
        if not beside:
            return ()
        here, _ = await self._checked(files, over, sandbox, tell)
        return beside if any(it.passed and it.name in failed for it in here) else ()

    async def apply(self, key: str, records: Sequence[Recorded], effect: ApplyChange) -> Applied | Fault:
        """Write it, if the record holds a person's yes to just this."""
        session = Session.fold(key.partition("/")[0], records)
        files = await self._drafts.files(effect.draft)
        try:
            answer = await self._allowed(session, _planned_for(records, effect.gate), effect, files)
        except NotAllowed as lacking:
            return Fault.of(FaultKind.PERMISSION, str(lacking), help="Nothing was written.")
        rehearsals = (it for it in session.results.values() if isinstance(it, Rehearsed) and it.draft == effect.draft)
        checks = next((it.checks for it in rehearsals), ())
        commit = Commit(
            effect.message,
            session.id,
            asker(session),
            _producers(session, effect.draft),
            f"{session.charter.owner} (ahead)" if answer.by == AHEAD else answer.by,
            {it.name: "passed" if it.passed else "failed" for it in checks},
        )
        receipt = await asyncio.to_thread(
            applied, self._workspace, self._journals, files, key=key, commit=commit, branch=effect.branch
        )
        if isinstance(receipt, Receipt):
            return _applied(receipt)
        return Fault.of(FaultKind.REFUSED, " ".join(it.sentence for it in receipt), help="Nothing was written.")

    async def recover(self, key: str) -> Applied | None:
        """What a step wrote before its process ended, by the journal."""
        receipt = await asyncio.to_thread(receipt_of, self._workspace, self._journals, key)
        return _applied(receipt) if receipt else None

    async def _allowed(
        self, session: Session, planned: Digest, effect: ApplyChange, files: Sequence[Written]
    ) -> GateAnswered:
        """The yes: at a gate that writes, to a plan from which the same files come when the choice is made again."""
        gate, answer = session.gates.get(effect.gate), session.answers.get(effect.gate)
        if gate is None or not gate.writes or answer is None or answer.option not in ("all", "some"):
            raise NotAllowed(f"Nobody said yes at the gate {effect.gate}.")
        choice = answer.text if answer.option == "some" else ""
        if answer.option == "some" and not choice:
            raise NotAllowed("The answer does not say which hunks were meant.")
        if not planned:
            raise NotAllowed("There is no plan that the answer could be about.")
        again = _taken(await self._drafts.files(planned), choice)
        if isinstance(again, Refusal) or again != tuple(files):
            raise NotAllowed("What would be written is not what was approved.")
        lost = await asyncio.to_thread(destroyed, files, self._workspace)
        if lost and not _confirmed(session, planned):
            raise NotAllowed("Something would be lost for good, and nobody confirmed that.")
        return answer


def _planned_for(records: Sequence[Recorded], gate: str) -> Digest:
    """The draft of the last plan that was shown before a gate was opened."""
    draft = ""
    for it in records:
        match it.event:
            case EffectStarted(effect=PlanChange(shown)):
                draft = shown
            case GateOpened(gate=opened) if opened.id == gate:
                return draft
            case _:
                pass
    return ""


def _confirmed(session: Session, draft: Digest) -> bool:
    """Whether the phrase of this draft's plan was typed at a gate that asks for it."""
    plans = [
        result.phrase
        for step, result in session.results.items()
        if isinstance(result, Planned) and session.effects[step] == PlanChange(draft)
    ]
    said = [
        it.text.strip() for id, it in session.answers.items() if session.gates[id].writes and it.option == "confirm"
    ]
    return any(phrase and phrase in said for phrase in plans)


def _taken(files: Sequence[Written], choice: str) -> tuple[Written, ...] | Refusal:
    """What a person's answer leaves of a draft."""
    if not choice:
        return tuple(files)
    try:
        told = msgspec.json.decode(choice, type=Choice)
    except msgspec.MsgspecError:
        return Refusal("", RefusalKind.CONTRADICTION, "The answer does not say which hunks were meant.")
    return chosen(files, told)


def _uncommitted(files: Sequence[Written], workspace: Path) -> Sequence[Refusal]:
    """What stands against it in the repository; git reads bytes from files, so they lie in a folder meanwhile."""
    repository = Repository.of(workspace)
    if repository is None:
        trouble = repository_trouble(workspace)
        return [Refusal(it.path, RefusalKind.REPOSITORY, trouble) for it in files[:1] if trouble]
    modes = {it.path: 0o755 if it.executable else 0o644 for it in files}
    then = {it.path: None if it.after is None else Content(it.after, modes[it.path]) for it in files}
    with Beneath.of(workspace) as tree, own_folder() as folder:
        now = {path: tree.read(path) for it in files for path in (it.was, it.path) if path}

        def place(data: bytes) -> Path:
            path = Path(folder) / digest_of(data).removeprefix("sha256:")
            path.write_bytes(data)
            return path

        return repository.objections(now, then, place)


def _asked(session: Session) -> str:
    """The words in which a change was asked for: the task or decision, and the plan for it."""
    plans = (move.text for name, it in session.rounds.items() if name.endswith("-plan") for move in it.moves())
    return "\n".join((session.charter.question, *plans))


def _is_named(path: str, words: str) -> bool:
    """Whether words name a file, by its path, its name or its stem; a test goes with what it tests."""
    name = path.rpartition("/")[2]
    stem = name.partition(".")[0].removeprefix("test_").removesuffix("_test")
    return any(re.search(rf"(?<!\w){re.escape(it)}(?!\w)", words) for it in (path, name, stem) if it)


def _nothing() -> Refusal:
    return Refusal("", RefusalKind.CONTRADICTION, "Nothing of it was taken.")


def _phrase(files: Sequence[Written]) -> str:
    """What a person types to lose something for good, with the number of files that they see in the plan."""
    deleted = [it for it in files if it.after is None]
    verb, number = ("delete", len(deleted)) if deleted else ("overwrite", len(files))
    return f"{verb} {many(number, 'file')}"


def _producers(session: Session, draft: Digest) -> tuple[str, ...]:
    """Whose work it is; a draft of another session is its executor's."""
    authors = authors_of(session, draft)
    executing = str(session.charter.settings.get("by", ""))
    return tuple(dict.fromkeys((*authors.seats, *(it.seat for it in authors.took)))) or tuple(
        filter(None, (executing,))
    )


def _applied(receipt: Receipt) -> Applied:
    return Applied(receipt.undo, receipt.files, receipt.commit, receipt.branch, receipt.left, receipt.note)
