"""The report on a meeting in stages: it is complete, and its texts cannot forge it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from roundtable.core.decide.stage_outcome import decide_project_finished
from roundtable.core.effects import (
    Candidate,
    CandidatesTried,
    CheckOutcome,
    ClaimsProven,
    DeliverProject,
    EffectResult,
    EndStage,
    ProjectDelivered,
    ProjectRan,
    Proof,
    RunProject,
    StageEnded,
    TryCandidates,
)
from roundtable.core.events import (
    BY_ADVANCE_ANSWER,
    AnswerSource,
    DecisionMade,
    EffectDone,
    EffectStarted,
    Event,
    GateAnswered,
    GateOpened,
    NoteSaid,
    Recorded,
    RoundClosed,
    RoundOpened,
    SeatMissed,
    SessionOpened,
)
from roundtable.core.faults import Fault, FaultKind
from roundtable.core.reasons import Said
from roundtable.core.session import Session
from roundtable.core.stage_history import StageFileChange
from roundtable.core.stages import Contribution, Stage, StageEnd
from roundtable.core.values import STAGES_GATE, Charter, Expect, Gate, Prompt, Seat, Turns
from roundtable.core.verdict import Directives, Findings, Issue, Stance, Verdict
from roundtable.report.document import render_blocks_as_markdown
from roundtable.report.html import render_blocks_as_html
from roundtable.report.stage_report import render_stage_report_blocks
from tests.report.test_session_views import NASTY, SEATS, move_made, read_page, tokens

JUDGING = Turns(secret=True, judging=True)
GO_ON = {"continue": "go on to the next stage", "retry": "hold this stage again", "stop": "stop here"}
DOWN = Fault.of(FaultKind.OVERLOADED, "It is overloaded.")
STAGES = (
    Stage("requirements", "Requirements", "Engineer", "discussion", "Say what.", 2048),
    Stage("development", "Development", "Engineer", "files", "Write it.", 8192),
    Stage("code-review", "Code Review", "Reviewer", "review", "Read it.", 4096),
    Stage("execution", "Execution", "SRE", "run", "Run it.", 8192),
)
CHANGES = {
    "development": (StageFileChange("app.py", "new", "claude", (Contribution("app.py", "login", "gpt"),), "sha256:1"),)
}


def round_events(name: str, *moves: Event, seats: tuple[str, ...] = SEATS, codec: str = "free") -> list[Event]:
    """Return the events of a round in which every seat that is not missing answered."""
    turns = JUDGING if "judge" in name else Turns()
    absent = tuple(move.seat for move in moves if isinstance(move, SeatMissed))
    answered = tuple(seat for seat in seats if seat not in absent)
    opening = RoundOpened(name, seats, seats, turns, Expect(codec), Prompt("x"), "sha256:0")
    return [opening, *moves, RoundClosed(name, "all", answered, absent)]


def step_events(name: str, effect: Any, result: EffectResult) -> list[Event]:
    return [EffectStarted(name, effect), EffectDone(name, result)]


def stage_end_events(
    end: StageEnd, option: str = "continue", text: str = "", source: AnswerSource = AnswerSource.PERSON
) -> list[Event]:
    name = end.stage if end.attempt == 1 else f"{end.stage}-{end.attempt}"
    gate = Gate(f"after-{name}", "Go on?", tuple(GO_ON), "stop", GO_ON, again_of=STAGES_GATE)
    end_events = step_events(f"{name}/end", EndStage(end), StageEnded(end))
    return [
        *end_events,
        GateOpened(gate),
        GateAnswered(gate.id, option, text, "maria" if source is AnswerSource.PERSON else BY_ADVANCE_ANSWER, source),
    ]


def stage_records(text: str) -> list[Recorded]:
    """Return the facts of four stages in which everything possible happens; every seat says `text`."""
    disputed = Verdict(Stance.AMEND, options=(f"Keep them {text}", "Remove them"))
    merged = Verdict(Stance.SUPPORT, directives=Directives("candidate-B", (f"login {text}",)))
    ruled = Verdict(Stance.SUPPORT, findings=Findings(critical=("F1",)))
    found = Verdict(issues=(Issue(f"It drops the connection {text}", severity="high", location="app.py:18"),))
    gate = Gate("requirements-2-dispute", "Which way?", ("option-1", "none"), "none", {"option-1": "Keep them"})
    failing = CheckOutcome("check", ("python3", "smoke.py"), 1, f"Traceback {text}", 0.3)
    passing = CheckOutcome("check", ("python3", "smoke.py"), 0, "ok", 0.2)
    tried = CandidatesTried((Candidate("claude", "sha256:2", cluster=1), Candidate("gpt", "sha256:3", cluster=2)))
    first = StageEnd("D1", "requirements", 1, "agreed", "Too much.", judge="claude")
    again = StageEnd(
        "D1", "requirements", 2, "chosen", text, judge="gpt", notices=(Said(f"claude was not heard {text}"),)
    )
    wrote = StageEnd(
        "D2", "development", 1, "agreed", text, "sha256:9", "gpt", "claude", (Contribution("app.py", "login", "gpt"),)
    )
    reviewed = StageEnd("D3", "code-review", 1, "agreed", text, "sha256:9", judge="gemini")
    ran = StageEnd("D4", "execution", 1, "agreed", text, "sha256:9", base="claude")
    settings: dict[str, Any] = {"stages": msgspec.json.encode(STAGES).decode(), "into": "/home/maria/todo"}
    charter = Charter(
        "A to-do list", tuple(Seat(name, (f"lab:{name}",)) for name in SEATS), "sdlc", 1, settings=settings
    )
    events: list[Event] = [
        SessionOpened(charter),
        *round_events("requirements/1-draft", *(move_made("requirements/1-draft", name, text) for name in SEATS)),
        *stage_end_events(first, "retry", f"Leave lists out {text}"),
        *round_events(
            "requirements-2/1-judge", SeatMissed("requirements-2/1-judge", "claude", DOWN), seats=("claude",)
        ),
        *round_events(
            "requirements-2/1-judge-2", move_made("requirements-2/1-judge-2", "gpt", text, disputed), seats=("gpt",)
        ),
        GateOpened(gate),
        GateAnswered(gate.id, "option-1", text, by="maria"),
        *stage_end_events(again),
        NoteSaid(f"Mind the phones {text}", by="maria"),
        *round_events("development/1-write", *(move_made("development/1-write", name, text) for name in SEATS)),
        *step_events("development/1-try", TryCandidates(("development/1-write",), SEATS), tried),
        *round_events("development/1-judge", move_made("development/1-judge", "gpt", text, merged), seats=("gpt",)),
        *stage_end_events(wrote, source=AnswerSource.ADVANCE),
        *round_events(
            "code-review/1-chunk",
            move_made("code-review/1-chunk", "gpt", text, found),
            seats=("gpt",),
            codec="findings",
        ),
        *step_events(
            "code-review/1-chunk/proofs",
            TryCandidates((), ()),
            ClaimsProven((Proof(f"It drops the connection {text}", "gpt", held=True),)),
        ),
        *round_events(
            "code-review/2-judge", move_made("code-review/2-judge", "gemini", text, ruled), seats=("gemini",)
        ),
        *stage_end_events(reviewed),
        *step_events("execution/1/run", RunProject("sha256:9"), ProjectRan("plan", (failing,), sandbox="bubblewrap")),
        *step_events("execution/2/run", RunProject("sha256:9"), ProjectRan("plan", (passing,))),
        *stage_end_events(ran),
        *step_events(
            "deliver/x",
            DeliverProject("sha256:9", "git", "/home/maria/todo", "deliver"),
            ProjectDelivered("/home/maria/todo"),
        ),
        DecisionMade(decide_project_finished(charter, (again, wrote, reviewed, ran))),
    ]
    return [Recorded(n, f"2026-11-15T18:00:{n:02}.000000Z", "s-1", event) for n, event in enumerate(events, 1)]


def reported(text: str) -> tuple[str, str]:
    """Return the report as Markdown and as a page."""
    records = stage_records(text)
    session = Session.fold("s-1", records)
    blocks = list(render_stage_report_blocks(session, records, CHANGES))
    return render_blocks_as_markdown(blocks), render_blocks_as_html(session, blocks)


TOLD = (
    "D1 Requirements, attempt 1",
    "sent back",
    "Leave lists out",
    "D1 Requirements, attempt 2",
    "decided by the person",
    "was not heard",
    "It is overloaded.",
    "in dispute",
    "Keep them",
    "Remove them",
    "Which way? option-1 (Keep them), by maria.",
    "After the stage: continue (go on to the next stage), answered in advance.",
    "The judge chose one candidate as the base and asked for these additions: - login",
    "claude, login from gpt",
    "Mind the phones",
    "critical: F1; warnings: none; confirmed clean: none",
    "app.py:18",
    "It drops the connection",
    "reproduced",
    "Run 1",
    "The program was run as a plain program, in bubblewrap.",
    "exit code 1",
    "Traceback",
    "Run 2",
    "Delivered: /home/maria/todo",
    "Tokens and cost by stage and seat:",
    "4,400 · $0.0400",
    "D4",
    "Execution",
)


@pytest.mark.parametrize("part", TOLD)
def test_the_report_contains_every_part_as_markdown_and_as_a_page(part: str) -> None:
    markdown, html = reported("plainly.")
    assert part in markdown.replace("\\", "")
    assert part in read_page(html).text


def test_the_report_quotes_decisions_word_for_word() -> None:
    words = "R1 It stores notes.\n\n    indented, and  spaced\nR2 <b>It</b> lists them."
    markdown, html = reported(words)
    assert words in read_page(html).text
    assert "> R1 It stores notes.\n>\n>     indented, and  spaced\n> R2 \\<b>It\\</b> lists them." in markdown


def test_model_text_cannot_forge_a_report() -> None:
    (plain, page), (forged, nasty) = reported("x"), reported(NASTY)
    honest, dishonest = read_page(page), read_page(nasty)
    assert dishonest.tags == honest.tags
    assert dishonest.attributes == honest.attributes
    assert not {"script", "img", "link", "iframe", "object", "form"} & set(dishonest.tags)
    ours = ("heading_open", "table_open", "tr_open", "hr", "bullet_list_open")
    assert [token for token in tokens(forged) if token in [(kind, 0) for kind in ours]] == [
        token for token in tokens(plain) if token in [(kind, 0) for kind in ours]
    ]
    assert not {"html_block", "html_inline", "image"} & {kind for kind, _ in tokens(forged)}
    assert "\x1b" not in forged + nasty


def test_an_unfinished_meeting_has_a_report() -> None:
    records = stage_records("x")[:4]
    blocks = render_stage_report_blocks(Session.fold("s-1", records), records, {})
    assert "No stage has ended yet." in render_blocks_as_markdown(blocks)
