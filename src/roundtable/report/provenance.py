"""From a hunk back to who wanted it, who wrote it and who said yes, as plain text for every view to tell.

What a seat wants to be written, as a list of files: its whole reply is for programs, and for who asks to see it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from roundtable.core.changeset import (
    NO_NEWLINE_MARK,
    CreateFile,
    DeleteFile,
    EditFile,
    Hunk,
    HunkChoice,
    Operation,
    PutSymbol,
    Refusal,
    RenameFile,
    ReplaceFile,
)
from roundtable.core.decide.trial_outcome import (
    is_candidate_unverified,
    is_position_only_task,
    unverified_candidate_warning,
)
from roundtable.core.effects import (
    ApplyChange,
    Candidate,
    CandidatesTried,
    ChangeApplied,
    ChangePlanned,
    ChangeRehearsed,
    CheckOutcome,
    Contribution,
    DraftMove,
    DraftsSynthesised,
    MergeTried,
    MoveDrafted,
    PlanChange,
    RehearseChange,
    StageEnded,
    SynthesiseDrafts,
    TryMerged,
)
from roundtable.core.events import ChangeUndone, GateAnswered
from roundtable.core.replies.codec import UnreadableReply
from roundtable.core.replies.file_changes import parse_file_changes
from roundtable.core.session import Session
from roundtable.core.text.sanitize import reveal_hidden_characters, sanitize_line
from roundtable.core.text.wording import pluralize
from roundtable.core.values import Digest, Expect, Gate
from roundtable.report.stage_words import list_stage_ends

R = TypeVar("R")

CANDIDATE_COLUMNS = ("Candidate", "Checks", "Tests", "Alike", "Result")
CHECK_COLUMNS = ("Check", "Before", "After")
TAKEN_PART_COLUMNS = ("File", "Part", "From")
UNREQUESTED_WORDS = "nobody asked for it"
_ASKER = 60
"""Characters of the task or decision that a hunk is traced back to."""


class HunkProvenance(NamedTuple):
    """One hunk: what asked for it, who wrote it, what became of it by whose word, and what they wrote instead if so."""

    hunk: Hunk
    asked: str
    wrote: tuple[str, ...]
    became: str = ""
    by: str = ""
    rewritten: tuple[str, ...] = ()


class ChangeProgress(NamedTuple):
    """How far a change came: the plan, each hunk's story, the rehearsal, what was written."""

    planned: ChangePlanned
    hunks: tuple[HunkProvenance, ...]
    took: tuple[Contribution, ...] = ()
    rehearsed: ChangeRehearsed | None = None
    applied: ChangeApplied | None = None
    undone: ChangeUndone | None = None


def is_approval_gate(gate: Gate) -> bool:
    """Whether a gate asks about the hunks of a plan."""
    return gate.writes and "some" in gate.options


def is_confirmation_gate(gate: Gate) -> bool:
    """Whether it asks about what would be lost for good, which only the typed phrase allows."""
    return gate.writes and "confirm" in gate.options


def newest_plan(session: Session) -> tuple[Digest, ChangePlanned] | None:
    """The newest plan and the draft it is of."""
    for step, result in reversed(session.results.items()):
        effect = session.effects.get(step)
        if isinstance(result, ChangePlanned) and isinstance(effect, PlanChange):
            return effect.draft, result
    return None


def confirmation_phrase(session: Session) -> str:
    """What is to be typed where the newest rehearsal would lose something for good."""
    return next((it.phrase for it in reversed(session.results.values()) if isinstance(it, ChangeRehearsed)), "")


def summarize_change(session: Session) -> ChangeProgress | None:
    """What became of the newest plan; None where a session planned nothing."""
    found = newest_plan(session)
    if found is None:
        return None
    draft, plan = found
    said = _approval(session)
    authors = trace_draft_authors(session, draft)
    hunks = tuple(_provenance(it, session, authors, said) for it in plan.hunks)
    applied = _newest(session, ChangeApplied)
    undone = session.undone.get(applied.undo) if applied else None
    return ChangeProgress(plan, hunks, authors.took, _newest(session, ChangeRehearsed), applied, undone)


def newest_candidates(session: Session) -> CandidatesTried | None:
    """The candidates as they were tried last."""
    return _newest(session, CandidatesTried)


def describe_draft_doubt(session: Session, draft: Digest, author: str) -> str:
    """That nothing showed whether a draft is right, in words; of one that is an author's, whatever became of it."""
    result = newest_candidates(session)
    if result is None:
        return str(session.charter.settings.get("doubt", ""))
    found = [it for it in result.candidates if it.draft == draft] or [
        it for it in result.candidates if it.seat == author
    ]
    return unverified_candidate_warning(found[0]) if found else ""


def _newest(session: Session, kind: type[R]) -> R | None:
    return next((it for it in reversed(session.results.values()) if isinstance(it, kind)), None)


def _approval(session: Session) -> GateAnswered | None:
    """The answer that a written change rests on, or the last one given to a plan."""
    applying = [it.gate for it in session.effects.values() if isinstance(it, ApplyChange)]
    asked = applying[-1:] or [id for id, gate in session.gates.items() if is_approval_gate(gate)]
    return next((session.answers[id] for id in reversed(asked) if id in session.answers), None)


def decode_hunk_choice(said: GateAnswered) -> HunkChoice:
    """Which hunks an answer leaves or rewrites; words that are no choice change nothing."""
    try:
        return msgspec.json.decode(said.text, type=HunkChoice) if said.option == "some" else HunkChoice()
    except msgspec.MsgspecError:
        return HunkChoice()


def describe_gate_answer_text(said: GateAnswered) -> str:
    """What a person wrote with an answer; a choice of hunks in words."""
    choice = decode_hunk_choice(said)
    named = {"left out": choice.rejected, "rewritten": tuple(choice.edited)}
    return "; ".join(f"{what} {', '.join(ids)}" for what, ids in named.items() if ids) or said.text


class DraftAuthors(NamedTuple):
    """Whose a draft is, and which parts of it came from others."""

    seats: tuple[str, ...] = ()
    took: tuple[Contribution, ...] = ()

    def of(self, path: str) -> tuple[str, ...]:
        """Who wrote what stands in a file."""
        return tuple(dict.fromkeys((*self.seats, *(it.seat for it in self.took if it.path == path))))


def trace_draft_authors(session: Session, draft: Digest) -> DraftAuthors:
    """Trace a draft back through the steps that made it."""
    for step, result in reversed(session.results.items()):
        effect = session.effects.get(step)
        match effect, result:
            case DraftMove(), MoveDrafted() if result.draft == draft:
                before = trace_draft_authors(session, effect.over) if effect.over not in ("", draft) else DraftAuthors()
                return DraftAuthors(tuple(dict.fromkeys((*before.seats, effect.seat))), before.took)
            case SynthesiseDrafts(), DraftsSynthesised() if result.draft == draft:
                return DraftAuthors((effect.base,), result.took)
            case TryMerged(), MergeTried() if result.candidate.draft == draft and effect.draft != draft:
                return trace_draft_authors(session, effect.draft)
            case RehearseChange(), ChangeRehearsed() if result.draft == draft and effect.draft != draft:
                return trace_draft_authors(session, effect.draft)
            case _, StageEnded() if draft and result.end.draft == draft:
                return DraftAuthors(
                    took=tuple(dict.fromkeys(it for end in list_stage_ends(session) for it in end.took))
                )
            case _, CandidatesTried():
                if wrote := [it.seat for it in result.candidates if it.draft == draft]:
                    return DraftAuthors((wrote[0],))
            case _:
                pass
    brought = session.charter.settings
    if not draft or brought.get("draft") != draft:
        return DraftAuthors()
    wrote = str(brought.get("wrote", ""))
    return msgspec.json.decode(wrote, type=DraftAuthors) if wrote else DraftAuthors((str(brought.get("by", "")),))


def encode_draft_authors(session: Session, draft: Digest) -> str:
    """The same for the session that carries the draft out, which cannot trace it back; empty where it has no author."""
    authors = trace_draft_authors(session, draft)
    return msgspec.json.encode(authors).decode() if any(authors) else ""


def trace_hunk_provenance(hunk: Hunk, session: Session, authors: DraftAuthors) -> HunkProvenance:
    """Where a hunk comes from that nobody has decided about yet."""
    return HunkProvenance(hunk, describe_hunk_request(session, hunk.asked_by), authors.of(hunk.path))


def _provenance(hunk: Hunk, session: Session, authors: DraftAuthors, said: GateAnswered | None) -> HunkProvenance:
    found = trace_hunk_provenance(hunk, session, authors)
    if said is None or said.option == "ask":
        return found
    choice = decode_hunk_choice(said)
    became = "rewritten" if hunk.id in choice.edited else "taken"
    if said.option == "none" or hunk.id in choice.rejected:
        became = "left out"
    rewritten = tuple(f"+{reveal_hidden_characters(line)}" for line in choice.edited.get(hunk.id, "").splitlines())
    return found._replace(became=became, by=said.by, rewritten=rewritten)


def describe_hunk_request(session: Session, asked_by: str) -> str:
    """What asked for a hunk: the task or the decision in its own words, or the claim by its name."""
    charter = session.charter
    of, position = (str(charter.settings.get(it, "")) for it in ("of", "position"))
    if not asked_by or asked_by not in (of, charter.slug):
        return asked_by
    decided = position if not is_position_only_task(position, charter.question) else ""
    words = sanitize_line((decided or charter.question).strip().partition("\n")[0], _ASKER)
    return f"the {'decision' if of and decided else 'task'} “{words}”"


# --- in words ------------------------------------------------------------------------------------


def describe_hunk_provenance(it: HunkProvenance) -> str:
    """`asked for by the task “Log in”, written by gpt, taken (anna)`."""
    words = [f"asked for by {it.asked}" if it.asked else UNREQUESTED_WORDS]
    words += [f"written by {' and '.join(it.wrote)}"] if it.wrote else []
    words += [f"{it.became} ({it.by})" if it.by else it.became] if it.became else []
    return ", ".join(words)


def render_hunk_lines(hunk: Hunk) -> list[str]:
    """The hunk as a diff has it; what a terminal would obey is written out, but for line ends that are all alike."""
    lines = [f"{sign}{it}" for sign, side in hunk.sides for it in side]
    crlf = all(line.endswith("\r") for line in lines if line[1:] != NO_NEWLINE_MARK)
    return [reveal_hidden_characters(line.removesuffix("\r") if crlf else line) for line in lines]


def describe_hunk_place(hunk: Hunk) -> str:
    """Which part of its file a hunk is about."""
    if hunk.whole:
        return hunk.whole
    return f"line {hunk.first}" if is_text_hunk(hunk) else f"its {hunk.id.rpartition('#')[2]}"


def is_text_hunk(hunk: Hunk) -> bool:
    """Whether it is about lines; else it is about the file's name or mode."""
    return hunk.id.rpartition("#")[2].isdecimal()


def describe_applied_change(applied: ChangeApplied) -> Iterator[str]:
    """What was written and how it is taken back."""
    where = f" on the branch {applied.branch}" if applied.branch else ""
    commit = f", commit {applied.commit[:12]}{where}" if applied.commit else where
    yield f"Written{commit}: {', '.join(applied.files)}."
    if applied.left:
        yield f"Changed by somebody in that very moment, and left as they are: {', '.join(applied.left)}."
    if applied.note:
        yield applied.note
    yield f"Take it back with: roundtable undo {applied.undo}"


def describe_change_outcome(it: ChangeProgress) -> Iterator[str]:
    """What became of a change in the end: written, taken back again, or neither."""
    if it.applied is None:
        yield "Nothing was written."
        return
    *written, back = describe_applied_change(it.applied)
    yield from written
    yield describe_undone_change(it.undone) if it.undone else back


def describe_undone_change(it: ChangeUndone) -> str:
    """That a change is no longer there."""
    return f"Change {it.change} was undone{f' by {it.by}' if it.by else ''}: {', '.join(it.files)}. {it.how}".strip()


def describe_change_plan(plan: ChangePlanned) -> Iterator[str]:
    """The plan in short: files and hunks, what nobody asked for, what is refused and what would be lost."""
    yield from render_diffstat(plan.hunks)
    for id in plan.unasked:
        yield f"Nobody asked for {id}."
    for test in plan.tests:
        yield f"Changes a test that was there: {test}."
    for it in plan.refused:
        yield describe_change_refusal("Not written", it)
    for it in plan.destroys:
        yield f"Lost for good: {it.rstrip('.')}."


def render_diffstat(hunks: Sequence[Hunk]) -> Iterator[str]:
    """A line per file: whether it comes or goes, in how many hunks it changes, and by how many lines."""
    for path in dict.fromkeys(it.path for it in hunks):
        own = [it for it in hunks if it.path == path]
        lines = [it for it in own if is_text_hunk(it)]
        more, less = (sum(map(_length, sides)) for sides in ([it.after for it in lines], [it.before for it in lines]))
        what = next((it.whole for it in own if it.whole), "") or pluralize(len(own), "hunk")
        counts = [f"+{more}" if more or what != "deleted" else "", f"-{less}" if less or what != "new file" else ""]
        yield f"{path}: {what}, {' '.join(filter(None, counts))}"


def _length(side: Sequence[str]) -> int:
    return sum(line != NO_NEWLINE_MARK for line in side)


def describe_change_refusal(what: str, it: Refusal) -> str:
    """`Refused: .env (It may hold a secret).`; a refusal that is about no file is its sentence alone."""
    why = it.sentence.rstrip(".")
    return f"{what}: {it.path} ({why})." if it.path else f"{what}: {why}."


def list_taken_hunks(it: ChangeProgress) -> list[Hunk]:
    """The hunks that were taken, with the person's own lines where they wrote some, by the name the file has then."""
    found = [one for one in it.hunks if one.became in ("taken", "rewritten")]
    own = {one.hunk: tuple(line[1:] for line in one.rewritten) for one in found if one.became == "rewritten"}
    stayed = {one.hunk.path: one.hunk.before[0] for one in it.hunks if one.became == "left out" and _renames(one.hunk)}
    return [
        msgspec.structs.replace(
            one.hunk, path=stayed.get(one.hunk.path, one.hunk.path), after=own.get(one.hunk, one.hunk.after)
        )
        for one in found
    ]


def _renames(hunk: Hunk) -> bool:
    return hunk.id.endswith("#rename")


def candidate_table_rows(tried: CandidatesTried) -> list[tuple[str, ...]]:
    """A row per candidate under CANDIDATE_HEAD, best first."""
    return [_candidate_row(it, tried.candidates) for it in tried.candidates]


def _candidate_row(it: Candidate, others: Sequence[Candidate]) -> tuple[str, ...]:
    alike = [other.seat for other in others if other.cluster == it.cluster and other is not it]
    like = ", ".join(alike) or "nobody" if it.cluster else "–"
    return (it.seat, _share(outcome.passed for outcome in it.checks), _share(it.tests.values()), like, _result(it))


def _result(it: Candidate) -> str:
    if it.refused or not it.draft:
        return "refused"
    if not it.checks:
        return "unchecked"
    if is_candidate_unverified(it):
        return "in doubt"
    return "passed" if it.passed else "failed"


def _share(passed: Iterable[bool]) -> str:
    ended = list(passed)
    return f"{sum(ended)} of {len(ended)}" if ended else "–"


def check_table_rows(rehearsed: ChangeRehearsed) -> list[tuple[str, ...]]:
    """A row per check under CHECK_HEAD."""
    before = {it.name: it for it in rehearsed.before}
    return [(it.name, _ended(before.get(it.name)), _ended(it)) for it in rehearsed.checks]


def _ended(outcome: CheckOutcome | None) -> str:
    if outcome is None:
        return "–"
    if outcome.limit is not None:
        return f"stopped ({outcome.limit})"
    return "passed" if outcome.passed else "stopped" if outcome.code is None else f"failed ({outcome.code})"


def taken_part_rows(took: Iterable[Contribution]) -> list[tuple[str, ...]]:
    """A row per part under TOOK_HEAD."""
    return [(it.path, it.symbol or "all of it", it.seat) for it in took]


_CODEC = "changes"


def asks_for_file_changes(expect: Expect) -> bool:
    """Whether a round asked for changes."""
    return expect.codec.startswith(_CODEC)


def describe_proposed_files(reply: str) -> list[str]:
    """A line per file of a reply in the changes form; none where it cannot be read."""
    try:
        return list(dict.fromkeys(map(_told, parse_file_changes(reply).operations)))
    except UnreadableReply:
        return []


def _told(it: Operation) -> str:
    match it:
        case CreateFile() | ReplaceFile():
            return f"{it.path}: whole, +{_lines(it.text)}"
        case PutSymbol():
            return f"{it.path}: {it.symbol}, +{_lines(it.text)}"
        case EditFile():
            more, less = (
                sum(map(_lines, side)) for side in ([b.replace for b in it.blocks], [b.search for b in it.blocks])
            )
            return f"{it.path}: +{more} -{less}"
        case DeleteFile():
            return f"{it.path}: deleted"
        case RenameFile():
            return f"{it.path}: renamed to {it.to}"


def _lines(text: str) -> int:
    return len(text.splitlines())
