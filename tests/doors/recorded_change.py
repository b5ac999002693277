"""A change on the record as the workshop leaves it: the facts that the views and the parley are shown."""

from __future__ import annotations

from roundtable.core.candidate_reasons import BestCandidates
from roundtable.core.changeset import Hunk
from roundtable.core.effects import (
    ApplyChange,
    Candidate,
    CandidatesTried,
    ChangeApplied,
    ChangePlanned,
    ChangeRehearsed,
    CheckOutcome,
    Contribution,
    DraftsSynthesised,
    PlanChange,
    RehearseChange,
    SynthesiseDrafts,
    TryCandidates,
)
from roundtable.core.events import EffectDone, EffectStarted, Event, GateAnswered, GateOpened, Recorded, SessionOpened
from roundtable.core.refusals import Refusal, RefusalCode
from roundtable.core.session import Session
from roundtable.core.values import Charter, Gate, Seat

CHARTER = Charter("Log in twice", (Seat("ada", ("x:y",)), Seat("bob", ("x:y",))), "build", 1)
PASSED = CheckOutcome("tests", ("pytest",), 0)
FAILED = CheckOutcome("tests", ("pytest",), 1)
LOGIN = Hunk(
    "src/login.py#1",
    "src/login.py",
    12,
    ("def login(user):", "    return check(user)"),
    ("def login(user, again=False):", "    if again:", "        return True", "    return check(user)"),
    "D-12",
)
LOGOUT = Hunk("src/login.py#2", "src/login.py", 40, ("    pass",), ("    forget(user)",), "D-12")
NOTES = Hunk("NOTES.md#1", "NOTES.md", 1, (), ("# Notes \x1b[2J\u202egnp.exe",), whole="new file")
PLAN = ChangePlanned(
    (LOGIN, LOGOUT, NOTES),
    (Refusal.of(".env", RefusalCode.NAME_SENSITIVE),),
    ("the only copy of NOTES.md",),
    "lose NOTES.md",
    (NOTES.id,),
)
TRIED = CandidatesTried(
    (
        Candidate("ada", "sha256:a", ("src/login.py",), (), (PASSED,), {"t1": True, "t2": True}, 1),
        Candidate("bob", "sha256:b", ("src/login.py", "NOTES.md"), (), (PASSED,), {"t1": True, "t2": False}, 2),
        Candidate("eve", "", (), (Refusal.of("../x", RefusalCode.PATH_COMPONENT),)),
    ),
    how=(BestCandidates(("ada",)),),
    sandbox="bubblewrap",
)
APPROVE = Gate("approve", "Write it?", ("all", "some", "ask", "none"), "none", writes=True)
EVENTS_UNTIL_PLAN: tuple[Event, ...] = (
    SessionOpened(CHARTER),
    EffectStarted("build/try", TryCandidates(("build/1-propose",), ("ada", "bob"))),
    EffectDone("build/try", TRIED),
    EffectStarted(
        "build/splice", SynthesiseDrafts("ada", {"ada": "sha256:a", "bob": "sha256:b"}, ("add bob's logout",))
    ),
    EffectDone("build/splice", DraftsSynthesised("sha256:c", (Contribution("src/login.py", "logout", "bob"),))),
    EffectStarted("build/plan", PlanChange("sha256:c")),
    EffectDone("build/plan", PLAN),
    GateOpened(APPROVE),
)


def events_after_answer(answer: GateAnswered) -> tuple[Event, ...]:
    """The rest of it, after a yes."""
    return (
        answer,
        EffectStarted("build/rehearse", RehearseChange("sha256:c", answer.text)),
        EffectDone("build/rehearse", ChangeRehearsed("sha256:d", (PASSED,), (FAILED,))),
        EffectStarted("build/execute", ApplyChange("sha256:d", "approve")),
        EffectDone("build/execute", ChangeApplied("u-7", ("src/login.py",), "0123456789abcdef")),
    )


def fold_session(*events: Event) -> Session:
    """A session with these facts."""
    return Session.fold("s", [Recorded(n, "2026-11-16T09:00:00Z", "s", event) for n, event in enumerate(events, 1)])
