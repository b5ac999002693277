"""What a seat reads: a pure function of the record, laid out so that each prompt only adds to the one before.

Nothing rendered is stored. A turn's prompt can be made again from the round's parts (by digest), the
session's facts up to `heard`, and the seat. Because a seat's earlier prompt stays word for word the
beginning of its next one, provider prefix caches hit; only taking context away breaks that, once.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from string import Template
from typing import TypeVar

from roundtable.core.decide.change_outcome import describe_broken_checks
from roundtable.core.decide.claims import render_proof
from roundtable.core.decide.decrees import find_unanswered_decree
from roundtable.core.decide.program_run import describe_project_run
from roundtable.core.decide.trial_outcome import describe_candidate_to_author
from roundtable.core.effects import (
    CandidatesTried,
    ChangeApplied,
    ChangeRehearsed,
    ChecksRun,
    ClaimsProven,
    ProjectRan,
    SharedResult,
)
from roundtable.core.events import MoveMade, TurnAsked
from roundtable.core.session import RoundRecord, Session
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.values import ContextItem, Digest, Message, MoveStatus, RecalledEntry

T = TypeVar("T")
Texts = Mapping[Digest, str]

_NO_MARKUP = str.maketrans({'"': "'", "<": "(", ">": ")"})
"""A file can be called anything, and its name must not close the tag it stands in."""


def shuffle_by_seed(items: Sequence[T], seed: int, salt: str) -> list[T]:
    """One fixed order per seed and salt, the same in every process and version of Python."""
    order = list(items)
    random.Random(f"{seed}/{salt}").shuffle(order)
    return order


def anonymous_label(index: int) -> str:
    """A, B, … Z, AA: what an anonymous seat is called."""
    letters = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def anonymous_seat_labels(session: Session) -> dict[str, str]:
    """The name under which each seat is read out where seats are anonymous: one per session, drawn by lot."""
    names = shuffle_by_seed([seat.name for seat in session.charter.seats], session.charter.seed, "labels")
    return {name: anonymous_label(index) for index, name in enumerate(names)}


def fence_untrusted_text(tag: str, name: str, text: str) -> str:
    """Fence text that is not ours, so that it cannot pass for instructions, close its fence or open one like it."""
    inside = re.sub(rf"<(\s*)(?=/\s*{tag}|{tag}\s+from\s*=)", r"<\1\\", text, flags=re.IGNORECASE)
    source = sanitize_line(name, 200).translate(_NO_MARKUP)
    return f'<{tag} from="{source}">\n{inside}\n</{tag}>'


def quote_seat_answers(name: str, said: str | Sequence[str]) -> str:
    """The seats' words under a name of ours: in one fence, or each item in its own under what it is called."""
    if isinstance(said, str):
        return fence_untrusted_text("answer", name, said) if said else ""
    items = (it.partition(":") if ":" in it else ("", "", it) for it in said)
    return "\n".join(
        fence_untrusted_text("answer", ": ".join(filter(None, (name, who))), text.strip()) for who, _, text in items
    )


def render_agreed_points(points: Sequence[str]) -> str:
    """The head of a turn: what need not be argued again."""
    agreed = fence_untrusted_text("answer", "agreed points", "\n".join(f"- {point}" for point in points))
    return f"Already agreed; do not argue these again:\n{agreed}"


def render_memory(entries: Sequence[RecalledEntry]) -> str:
    """What earlier meetings of this workspace left behind, each under the id by which it can be answered."""
    lines = [
        f"- {it.id} ({it.kind}): {it.text}"
        + (f" (asked: {it.question})" if it.question else "")
        + (f" Why: {it.why}" if it.why else "")
        for it in entries
    ]
    told = fence_untrusted_text("memory", "earlier meetings", "\n".join(lines))
    return (
        f"{told}\n\nDo not decide again what is decided above without saying what has changed. Do not propose what a "
        "decree rejects or what has failed, unless you name its id and say which objection you answer and how."
    )


def render_shared_result(result: SharedResult, seat: str) -> list[str]:
    """What came of a step: files are shown as context, so here only what was not shown, what checks and proofs said.

    Whose proof it was is not told: what it came to does not hang on that. Of candidates, each seat is told of its own,
    but for a judge, who is not to know which is its own.
    """
    match result:
        case ClaimsProven():
            return [
                fence_untrusted_text("check", "a proof", "\n".join(filter(None, render_proof(it))))
                for it in result.proofs
            ]
        case CandidatesTried():
            return [
                fence_untrusted_text("check", "your change", describe_candidate_to_author(it))
                for it in result.candidates
                if it.seat == seat
            ]
        case ChangeRehearsed():
            return (
                [fence_untrusted_text("check", "the rehearsal", told)]
                if (told := describe_broken_checks(result))
                else []
            )
        case ProjectRan():
            return [fence_untrusted_text("check", "the program", describe_project_run(result))]
        case ChangeApplied():
            return [
                fence_untrusted_text(
                    "check", "the workspace", f"Written: {', '.join(map(sanitize_line, result.files))}."
                )
            ]
        case _:
            pass
    refused = [f"Not shown: {sanitize_line(name)}. {sanitize_line(why)}" for name, why in result.refused.items()]
    told = [fence_untrusted_text("check", "requests", "\n".join(refused))] if refused else []
    if isinstance(result, ChecksRun):
        for it in result.outcomes:
            ended = "was stopped" if it.code is None else f"ended with exit code {it.code}"
            told.append(fence_untrusted_text("check", it.name, f"{' '.join(it.argv)} {ended}.\n{it.output}"))
    return told


def charter_blob_digests(session: Session) -> set[Digest]:
    """The blobs the charter names: the meeting's templates and the context."""
    return {*session.charter.templates.values(), *(item.digest for item in session.charter.context)}


def prompt_blob_digests(session: Session, round: RoundRecord) -> set[Digest]:
    """The blobs a prompt of this round is made of."""
    digests = charter_blob_digests(session) | {item.digest for _, item in session.context_added}
    for record in session.rounds.values():
        if record.seq <= round.seq:
            opened = record.opened
            digests |= {opened.template, opened.text_format, opened.json_format}
            digests |= {item.digest for item in opened.prompt.files}
    return digests - {""}


def _horizon(round: RoundRecord, asked: TurnAsked) -> int:
    """The last fact up to which a seat has heard its peers once it has taken this turn."""
    match round.opened.turns.visibility:
        case "same_round":
            return asked.heard
        case "previous_rounds":
            return round.seq
        case _:
            return 0


class PromptLayout:
    """Lays out the prompts of one session from its facts."""

    def __init__(self, session: Session, texts: Texts) -> None:
        self._session = session
        self._texts = texts
        self.labels = anonymous_seat_labels(session)

    def messages(self, round: RoundRecord, seat: str, asked: TurnAsked) -> tuple[Message, ...]:
        """The whole prompt of one turn: system, the seat's own earlier turns, then what is new."""
        before_the_table = self._session.context(asked.heard)
        messages = [Message("system", self._system(seat, [item for seq, item in before_the_table if not seq]))]
        earlier: list[tuple[RoundRecord, TurnAsked]] = []
        if round.opened.turns.visibility != "none":
            for record, asked_then, said in self._spoken(seat, round):
                messages.append(Message("user", self._turn(record, seat, asked_then, earlier, before_the_table)))
                messages.append(Message("assistant", said))
                earlier.append((record, asked_then))
        messages.append(Message("user", self._turn(round, seat, asked, earlier, before_the_table)))
        return tuple(messages)

    def _spoken(self, seat: str, before: RoundRecord) -> list[tuple[RoundRecord, TurnAsked, str]]:
        """The seat's own open turns of earlier rounds, with the words it used."""
        turns: list[tuple[RoundRecord, TurnAsked, str]] = []
        for record in self._session.rounds.values():
            turn = record.turns.get(seat)
            if record.seq >= before.seq or turn is None or record.opened.turns.secret:
                continue
            if not before.opened.turns.includes_round(record.name):
                continue
            if turn.move is not None and turn.move.status is MoveStatus.MADE:
                asked = next(ask for _, ask in turn.asked if ask.call == turn.move.call)
                turns.append((record, asked, turn.move.raw or turn.move.text))
        return turns

    def _system(self, seat_name: str, context: Sequence[ContextItem]) -> str:
        seat = self._session.seat(seat_name)
        charter = self._session.charter
        parts = [self._texts[charter.templates["system"]].strip()] if "system" in charter.templates else []
        if charter.language != "en":
            parts.append(f"Hold the whole discussion in this language: {charter.language}.")
        parts += [render_memory(charter.recalled)] if charter.recalled else []
        parts += [fence_untrusted_text("context", item.name, self._texts[item.digest]) for item in context]
        if seat.role:
            parts.append(f"Your role at this table: {seat.role}.")
        if seat.brief:
            parts.append(seat.brief)
        return "\n\n".join(parts)

    def _turn(
        self,
        round: RoundRecord,
        seat: str,
        asked: TurnAsked,
        earlier: Sequence[tuple[RoundRecord, TurnAsked]],
        context: Sequence[tuple[int, ContextItem]],
    ) -> str:
        """One user message: what this seat has not heard yet, then what it is asked to do."""
        known = max((ask.heard for _, ask in earlier), default=0)
        parts = [render_agreed_points(round.opened.prompt.agreed)] if round.opened.prompt.agreed else []
        if not earlier:
            parts.append(fence_untrusted_text("question", "the person", self._session.charter.question))
        parts += [
            fence_untrusted_text("context", item.name, self._texts[item.digest])
            for seq, item in context
            if known < seq <= asked.heard
        ]
        parts += [
            fence_untrusted_text("context", item.name, self._texts[item.digest]) for item in round.opened.prompt.files
        ]
        parts += [
            fence_untrusted_text("note", "the person", note.text)
            for seq, note in self._session.notes
            if known < seq <= asked.heard and (not note.to or seat in note.to)
        ]
        parts += [
            fence_untrusted_text("note", "the person", text)
            for seq, text in self._session.gate_remarks
            if known < seq <= asked.heard
        ]
        parts += [
            told
            for seq, step, result in self._session.shared_results
            if known < seq <= asked.heard and round.opened.turns.includes_round(step)
            for told in render_shared_result(result, "" if round.opened.turns.judging else seat)
        ]
        parts += self._peers(round, seat, asked, earlier)
        parts.append(self._instructions(round, seat))
        form = round.opened.json_format if asked.structured else round.opened.text_format
        if form:
            parts.append(self._texts[form].strip())
        return "\n\n".join(parts)

    def _instructions(self, round: RoundRecord, seat: str) -> str:
        prompt = round.opened.prompt
        seed = self._session.charter.seed
        lists = {
            name: shuffle_by_seed(items, seed, f"{round.name}/{seat}/{name}") for name, items in prompt.lists.items()
        }
        peers = {name: quote_seat_answers(name, said) for name, said in {**prompt.quotes, **lists}.items()}
        template = Template(self._texts[round.opened.template].strip())
        return template.safe_substitute({**prompt.values, **peers, "seat": seat, "label": self.labels[seat]})

    def _peers(
        self,
        round: RoundRecord,
        seat: str,
        asked: TurnAsked,
        earlier: Sequence[tuple[RoundRecord, TurnAsked]],
    ) -> list[str]:
        """What the others said since this seat last listened, in an order of this reader's own."""
        turns = round.opened.turns
        if turns.visibility not in ("previous_rounds", "same_round"):
            return []
        since = max((_horizon(record, ask) for record, ask in earlier), default=0)
        until = _horizon(round, asked)
        heard: list[MoveMade] = []
        for record in self._session.rounds.values():
            if record.opened.turns.secret or not turns.includes_round(record.name):
                continue
            for turn in record.turns.values():
                move = turn.move
                if move is not None and move.status is MoveStatus.MADE and since < turn.seq <= until:
                    heard.append(move)
        said = [(move.seat, move.text) for move in heard if move.seat != seat]
        if turns.concurrency == "parallel":
            said = shuffle_by_seed(said, self._session.charter.seed, f"{round.name}/{seat}")
        names = {name: name if turns.signed else letter for name, letter in self.labels.items()}
        return [
            *(fence_untrusted_text("answer", names[who], text) for who, text in said),
            *self._repeated(heard, names),
        ]

    def _repeated(self, heard: Sequence[MoveMade], names: Mapping[str, str]) -> list[str]:
        """A word on what comes back although it was rejected or has failed, while it can still be answered."""
        found: dict[str, list[str]] = {}
        untold: dict[str, RecalledEntry] = {}
        charter = self._session.charter
        for move in heard:
            entry = find_unanswered_decree(charter, move.verdict.position, move.text)
            if entry is not None:
                found.setdefault(entry.id, []).append(names[move.seat])
                untold |= {entry.id: entry} if entry in charter.untold else {}
        return [render_memory(tuple(untold.values()))] * bool(untold) + [
            f"What {', '.join(sorted(set(who)))} proposed repeats {id} without answering it. It cannot win like this: "
            f"name {id} and say which objection is met and how, or propose something else."
            for id, who in found.items()
        ]
