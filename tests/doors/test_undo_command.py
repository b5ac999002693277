"""`roundtable undo` as a person uses it, and the next command after a death in the middle of writing."""

from __future__ import annotations

import asyncio
import json
from itertools import count
from pathlib import Path

import pytest

from roundtable.app.desk import Places
from roundtable.core.changeset import DraftFile
from roundtable.core.decide.change_outcome import decide_change_applied
from roundtable.core.effects import ChangeRehearsed
from roundtable.core.events import ChangeUndone, SessionOpened
from roundtable.core.text.redaction import Redactor
from roundtable.core.values import Charter, Decision, Outcome, Seat
from roundtable.report.reasons import decision_sentence
from roundtable.store.sqlite import SqliteStore
from roundtable.workshop.edit.apply_draft import find_journaled_change, write_draft_to_workspace
from roundtable.workshop.edit.undo import undo_journaled_change
from tests.doors.command_line import Cli
from tests.repository import git, repository
from tests.workshop.scenes import commit_message, require_applied, run_until_killed, take_snapshot

SESSION = "0199c0de-0000-7000-8000-000000000001"
CHANGE = (DraftFile("src/cart.py", b"a\n", b"b\n"), DraftFile("src/new.py", None, b"n\n"))


class Shop:
    """A person, a repository and a session that had something written there."""

    def __init__(self, folder: Path) -> None:
        self.cli = Cli(folder)
        repository(self.cli.work, {"src/cart.py": "a\n", ".gitignore": ".roundtable\n"})
        self.places = Places(self.cli.home, self.cli.home)
        asyncio.run(self._open())

    async def _open(self) -> None:
        store = await SqliteStore.open(self.places.database, Redactor())
        charter = Charter(
            question="Sum the cart",
            seats=(Seat("gpt", ("script:s.json",)),),
            meeting="council",
            version=1,
            slug="sum-the-cart",
            workspace=str(self.cli.work),
        )
        await store.append(SESSION, SessionOpened(charter))
        await store.close()

    def apply(self) -> None:
        """Have it written, as the desk does."""
        require_applied(
            write_draft_to_workspace(
                self.cli.work, self.places.journals, CHANGE, key=f"{SESSION}/apply/1", commit=commit_message("gpt")
            )
        )

    def take_back(self) -> None:
        """Have it undone, without the desk."""
        undo_journaled_change(self.cli.work, self.places.journals)

    def undone(self) -> list[ChangeUndone]:
        """What the session's record says of it."""

        async def read() -> list[ChangeUndone]:
            store = await SqliteStore.open(self.places.database, Redactor())
            records = await store.read(SESSION)
            await store.close()
            return [record.event for record in records if isinstance(record.event, ChangeUndone)]

        return asyncio.run(read())


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def test_undo_reverts_the_newest_change_and_records_the_person(shop: Shop) -> None:
    before = take_snapshot(shop.cli.work)
    shop.apply()
    listed = shop.cli.run("undo", "--list").stdout.splitlines()
    assert listed[0] == "change\twhen\tcommit\tsession\tfiles\ttask"
    output = listed[1].split("\t")
    assert (output[0], *output[3:]) == ("1", "sum-the-cart", "src/cart.py, src/new.py", "Sum the cart")
    text = shop.cli.run("undo").stderr
    assert text == (
        "Change 1 is undone (src/cart.py, src/new.py). "
        "The files were restored, and main is back at its earlier commit.\n"
    )
    assert take_snapshot(shop.cli.work) == before
    (fact,) = shop.undone()
    assert (fact.change, fact.files) == ("1", ("src/cart.py", "src/new.py"))
    assert fact.by
    nothing = shop.cli.run("undo", code=2).stderr
    assert "nothing to undo" in nothing
    assert "--list" not in nothing, "an empty list helps nobody"
    assert "nothing to undo" in shop.cli.run("undo", "--list").stderr


def test_undoable_and_undone_changes_are_available_as_json(shop: Shop) -> None:
    shop.apply()
    listed = json.loads(shop.cli.run("undo", "--list", "--json").stdout)["changes"]
    assert [(change["id"], change["session"]) for change in listed] == [("1", SESSION)]
    output = json.loads(shop.cli.run("undo", "1", "--json").stdout)
    assert (output["change"], output["left"], output["session"]) == ("1", [], SESSION)


def test_a_file_that_changed_since_is_named_and_nothing_is_undone(shop: Shop) -> None:
    shop.apply()
    (shop.cli.work / "src/new.py").write_text("mine\n")
    output = shop.cli.run("undo", "1", code=2).stderr
    assert "src/new.py has changed since" in output
    assert (shop.cli.work / "src/cart.py").read_text() == "b\n"
    assert shop.undone() == []


def test_after_a_crash_while_writing_the_next_command_recovers_and_says_so(shop: Shop) -> None:
    first = next(step for step in count(1) if run_until_killed(step, shop.apply) and _begun(shop))
    output = shop.cli.run("list").stderr
    assert "before it took effect: the files are unchanged." in output
    assert not _begun(shop)
    assert not (shop.cli.work / "src/new.py").exists()
    assert run_until_killed(first + 1, shop.apply)
    assert not (shop.cli.work / "src/new.py").exists()
    output = shop.cli.run("list").stderr
    assert "(src/cart.py, src/new.py) was interrupted and is now finished." in output
    assert (shop.cli.work / "src/new.py").read_text() == "n\n"
    assert git(shop.cli.work, "status", "--porcelain") == ""
    assert shop.cli.run("list").stderr.count("cut off") == 0


def test_a_killed_undo_is_recorded_by_the_command_that_finishes_it(shop: Shop) -> None:
    shop.apply()
    cut_off = next(step for step in count(1) if run_until_killed(step, shop.take_back) and _begun(shop))
    output = shop.cli.run("list").stderr
    assert "The undo of change 1 (src/cart.py, src/new.py) was interrupted before it took effect" in output
    assert shop.undone() == []
    assert run_until_killed(cut_off + 1, shop.take_back)
    output = shop.cli.run("list").stderr
    assert "The undo of change 1 (src/cart.py, src/new.py) was interrupted and is now finished." in output
    (fact,) = shop.undone()
    assert (fact.change, fact.files) == ("1", ("src/cart.py", "src/new.py"))
    assert "has already been undone" in shop.cli.run("undo", "1", code=2).stderr
    assert shop.undone() == [fact]


def test_a_killed_unrecorded_undo_is_recorded_when_it_is_repeated(shop: Shop) -> None:
    shop.apply()
    shop.take_back()
    assert shop.undone() == []
    assert "has already been undone" in shop.cli.run("undo", "1", code=2).stderr
    assert [change.change for change in shop.undone()] == ["1"]


def test_a_change_undone_before_its_session_recorded_it_is_not_offered_again(shop: Shop) -> None:
    shop.apply()
    key = f"{SESSION}/apply/1"
    receipt = find_journaled_change(shop.cli.work, shop.places.journals, key)
    assert receipt is not None
    assert not receipt.undone
    shop.take_back()
    receipt = find_journaled_change(shop.cli.work, shop.places.journals, key)
    assert receipt is not None
    decision = decide_change_applied(
        Decision(Outcome.REACHED, how=(), position="Sum the cart"), receipt, ChangeRehearsed("")
    )
    assert "It has since been undone." in decision_sentence(decision)
    assert "To undo it" not in decision_sentence(decision)


def _begun(shop: Shop) -> list[Path]:
    return list(shop.places.journals.glob("*/open/*"))
