"""The prompt of a turn: a pure function of the record, laid out so that each prompt extends the seat's previous one.

Rendered prompts are not stored. A turn's prompt can be rendered again from the round's parts (by digest), the session's
facts up to `heard`, and the seat. Because a seat's earlier prompt is the beginning of its next one, word for word,
provider prefix caches apply; only removing context invalidates them, once.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from string import Template
from typing import TypeVar

from roundtable.core.decide.decrees import find_unanswered_decree_in_proposal
from roundtable.core.effects import (
    CandidatesTried,
    ChangeApplied,
    ChangeRehearsed,
    ChecksRun,
    ClaimsProven,
    ProjectRan,
    Proof,
    SharedResult,
)
from roundtable.core.events import MoveMade, TurnAsked
from roundtable.core.session import RoundRecord, Session
from roundtable.core.text.quotation import escape_prompt_tags, fence_untrusted_text
from roundtable.core.text.sanitize import sanitize_line, sanitize_text
from roundtable.core.text.wording import fence_code_as_markdown
from roundtable.core.values import ContextItem, Digest, Message, MoveStatus, RecalledEntry
from roundtable.report.candidate_words import render_candidate_trial
from roundtable.report.check_words import refused_file_sentence, report_failed_check_to_seats
from roundtable.report.run_words import render_project_run

T = TypeVar("T")
Texts = Mapping[Digest, str]

_MAX_CLAIM_LENGTH, _MAX_PROGRAM_LENGTH = 300, 2_000


def _quote_seat_answers(name: str, answers: str | Sequence[str]) -> str:
    """Text of seats in fences: one text in one fence, or each item in its own fence under its name."""
    if isinstance(answers, str):
        return fence_untrusted_text("answer", name, answers) if answers else ""
    items = (item.partition(":") if ":" in item else ("", "", item) for item in answers)
    return "\n".join(
        fence_untrusted_text("answer", ": ".join(filter(None, (name, item_name))), text.strip())
        for item_name, _, text in items
    )


def _render_agreed_points(points: Sequence[str]) -> str:
    """The points that are settled, as the beginning of a turn."""
    agreed = fence_untrusted_text("answer", "agreed points", "\n".join(f"- {point}" for point in points))
    return f"Already agreed; do not argue these again:\n{agreed}"


def _render_memory(entries: Sequence[RecalledEntry]) -> str:
    """Entries of earlier meetings, each under the id by which a seat can answer it."""
    lines = [
        f"- {entry.id} ({entry.kind}): {entry.text}"
        + (f" (asked: {entry.question})" if entry.question else "")
        + (f" Why: {entry.why}" if entry.why else "")
        for entry in entries
    ]
    memory = fence_untrusted_text("memory", "earlier meetings", "\n".join(lines))
    return (
        f"{memory}\n\nDo not reopen a decision above without saying what has changed. Do not propose anything that a "
        "decree rejects or that has failed before, unless you name its id and say which objection you answer and how."
    )


def _render_shared_result(result: SharedResult, seat: str) -> list[str]:
    """The result of a step as a seat sees it: refused requests and the output of checks; files are shown as context.

    Proofs are shown without the seat that wrote them, since their result does not depend on it. Each seat sees the
    trial of its own candidate; a judge sees none, because it must not learn which candidate is its own.
    """
    match result:
        case ClaimsProven():
            return [
                fence_untrusted_text("check", "a proof", "\n".join(filter(None, _render_proof(proof))))
                for proof in result.proofs
            ]
        case CandidatesTried():
            return [
                fence_untrusted_text("check", "your change", render_candidate_trial(candidate))
                for candidate in result.candidates
                if candidate.seat == seat
            ]
        case ChangeRehearsed():
            broken = _render_broken_checks(result)
            return [fence_untrusted_text("check", "the rehearsal", broken)] if broken else []
        case ProjectRan():
            return [fence_untrusted_text("check", "the program", render_project_run(result))]
        case ChangeApplied():
            return [
                fence_untrusted_text(
                    "check", "the workspace", f"Written: {', '.join(map(sanitize_line, result.files))}."
                )
            ]
        case _:
            pass
    refusals = [f"Not shown: {sanitize_line(name)}. {sanitize_line(why)}" for name, why in result.refused.items()]
    blocks = [fence_untrusted_text("check", "requests", "\n".join(refusals))] if refusals else []
    if isinstance(result, ChecksRun):
        for outcome in result.outcomes:
            ending = "was stopped" if outcome.code is None else f"ended with exit code {outcome.code}"
            blocks.append(
                fence_untrusted_text("check", outcome.name, f"{' '.join(outcome.argv)} {ending}.\n{outcome.output}")
            )
    return blocks


def _render_proof(proof: Proof) -> Iterator[str]:
    """Return a claim with its program, the result and the output."""
    yield f"Claimed: {sanitize_line(proof.claim, _MAX_CLAIM_LENGTH)}"
    yield _describe_proof_result(proof)
    if proof.program:
        yield fence_code_as_markdown(sanitize_text(proof.program)[:_MAX_PROGRAM_LENGTH])
    if proof.outcome is not None:
        yield sanitize_text(proof.outcome.output)


def _describe_proof_result(proof: Proof) -> str:
    """Return the result of a proof in one sentence."""
    if proof.held is None:
        return f"The program could not be run: {sanitize_line(proof.why, _MAX_CLAIM_LENGTH)}"
    if not proof.held:
        return "The program refuted this claim (exit code 1)."
    before = " The claim was also true before the change." if proof.held_before else ""
    return f"The program confirmed this claim (exit code 0).{before}"


def _render_broken_checks(rehearsed: ChangeRehearsed) -> str:
    """The refused files and broken checks of a rehearsal, with the end of each check's output."""
    refused = [refused_file_sentence(refusal) for refusal in rehearsed.refused]
    broken = [check for check in rehearsed.checks if check.name in rehearsed.broken_checks]
    return "\n".join((*refused, *map(report_failed_check_to_seats, broken)))


def _seen_until(round: RoundRecord, ask: TurnAsked) -> int:
    """The last fact up to which a seat has seen the others' answers after this turn."""
    match round.opened.turns.visibility:
        case "same_round":
            return ask.heard
        case "previous_rounds":
            return round.seq
        case _:
            return 0


class PromptLayout:
    """Lays out the prompts of one session from its facts."""

    def __init__(self, session: Session, texts: Texts) -> None:
        self._session = session
        self._texts = texts
        names = self.shuffle([seat.name for seat in session.charter.seats], session.charter.seed, "labels")
        self.labels = {name: self.letter_label(index) for index, name in enumerate(names)}
        """The label of each seat for anonymous rounds, drawn by lot once per session."""

    @staticmethod
    def shuffle(items: Sequence[T], seed: int, salt: str) -> list[T]:
        """The items in an order fixed by seed and salt; it does not depend on the process or version of Python."""
        order = list(items)
        random.Random(f"{seed}/{salt}").shuffle(order)
        return order

    @staticmethod
    def letter_label(index: int) -> str:
        """The letters for a number from 0: A, B, … Z, AA."""
        letters = ""
        index += 1
        while index:
            index, rest = divmod(index - 1, 26)
            letters = chr(ord("A") + rest) + letters
        return letters

    def charter_digests(self) -> set[Digest]:
        """The blobs the charter refers to: the meeting's templates and the context."""
        charter = self._session.charter
        return {*charter.templates.values(), *(item.digest for item in charter.context)}

    def prompt_digests(self, round: RoundRecord) -> set[Digest]:
        """The blobs a prompt of this round is made of."""
        digests = self.charter_digests() | {item.digest for _, item in self._session.context_added}
        for record in self._session.rounds.values():
            if record.seq <= round.seq:
                opened = record.opened
                digests |= {opened.template, opened.text_format, opened.json_format}
                digests |= {item.digest for item in opened.prompt.files}
        return digests - {""}

    def messages(self, round: RoundRecord, seat: str, ask: TurnAsked) -> tuple[Message, ...]:
        """The whole prompt of one turn: system prompt, the seat's own earlier turns, then what is new."""
        context = self._session.context(ask.heard)
        messages = [Message("system", self._system_text(seat, [item for seq, item in context if not seq]))]
        earlier: list[tuple[RoundRecord, TurnAsked]] = []
        if round.opened.turns.visibility != "none":
            for record, earlier_ask, reply in self._earlier_turns(seat, round):
                messages.append(Message("user", self._turn_text(record, seat, earlier_ask, earlier, context)))
                messages.append(Message("assistant", reply))
                earlier.append((record, earlier_ask))
        messages.append(Message("user", self._turn_text(round, seat, ask, earlier, context)))
        return tuple(messages)

    def _earlier_turns(self, seat: str, before: RoundRecord) -> list[tuple[RoundRecord, TurnAsked, str]]:
        """The seat's own earlier turns (ballots excluded), with its replies."""
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

    def _system_text(self, seat_name: str, context: Sequence[ContextItem]) -> str:
        seat = self._session.seat(seat_name)
        charter = self._session.charter
        parts = [self._texts[charter.templates["system"]].strip()] if "system" in charter.templates else []
        if charter.language != "en":
            parts.append(f"Hold the whole discussion in this language: {charter.language}.")
        parts += [_render_memory(charter.recalled)] if charter.recalled else []
        parts += [fence_untrusted_text("context", item.name, self._texts[item.digest]) for item in context]
        if seat.role:
            parts.append(f"Your role at this table: {seat.role}.")
        if seat.brief:
            parts.append(seat.brief)
        return "\n\n".join(parts)

    def _turn_text(
        self,
        round: RoundRecord,
        seat: str,
        asked: TurnAsked,
        earlier: Sequence[tuple[RoundRecord, TurnAsked]],
        context: Sequence[tuple[int, ContextItem]],
    ) -> str:
        """One user message: what this seat has not seen yet, then its task."""
        last_heard = max((ask.heard for _, ask in earlier), default=0)
        parts = [_render_agreed_points(round.opened.prompt.agreed)] if round.opened.prompt.agreed else []
        if not earlier:
            parts.append(fence_untrusted_text("question", "the person", self._session.charter.question))
        parts += [
            fence_untrusted_text("context", item.name, self._texts[item.digest])
            for seq, item in context
            if last_heard < seq <= asked.heard
        ]
        parts += [
            fence_untrusted_text("context", item.name, self._texts[item.digest]) for item in round.opened.prompt.files
        ]
        parts += [
            fence_untrusted_text("note", "the person", note.text)
            for seq, note in self._session.notes
            if last_heard < seq <= asked.heard and (not note.to or seat in note.to)
        ]
        parts += [
            fence_untrusted_text("note", "the person", text)
            for seq, text in self._session.gate_remarks
            if last_heard < seq <= asked.heard
        ]
        parts += [
            block
            for seq, step, result in self._session.shared_results
            if last_heard < seq <= asked.heard and round.opened.turns.includes_round(step)
            for block in _render_shared_result(result, "" if round.opened.turns.judging else seat)
        ]
        parts += self._peer_answers(round, seat, asked, earlier)
        parts.append(self._task_text(round, seat))
        form = round.opened.json_format if asked.structured else round.opened.text_format
        if form:
            parts.append(self._texts[form].strip())
        return "\n\n".join(parts)

    def _task_text(self, round: RoundRecord, seat: str) -> str:
        prompt = round.opened.prompt
        seed = self._session.charter.seed
        lists = {name: self.shuffle(items, seed, f"{round.name}/{seat}/{name}") for name, items in prompt.lists.items()}
        quotes = {name: _quote_seat_answers(name, answers) for name, answers in {**prompt.quotes, **lists}.items()}
        template = Template(self._texts[round.opened.template].strip())
        values = {name: escape_prompt_tags(text) for name, text in prompt.values.items()}
        return template.safe_substitute({**values, **quotes, "seat": seat, "label": self.labels[seat]})

    def _peer_answers(
        self,
        round: RoundRecord,
        seat: str,
        asked: TurnAsked,
        earlier: Sequence[tuple[RoundRecord, TurnAsked]],
    ) -> list[str]:
        """The others' answers since this seat's last turn, in an order of its own where answers are parallel."""
        turns = round.opened.turns
        if turns.visibility not in ("previous_rounds", "same_round"):
            return []
        since = max((_seen_until(record, ask) for record, ask in earlier), default=0)
        until = _seen_until(round, asked)
        moves: list[MoveMade] = []
        for record in self._session.rounds.values():
            if record.opened.turns.secret or not turns.includes_round(record.name):
                continue
            for turn in record.turns.values():
                move = turn.move
                if move is not None and move.status is MoveStatus.MADE and since < turn.seq <= until:
                    moves.append(move)
        answers = [(move.seat, move.text) for move in moves if move.seat != seat]
        if turns.concurrency == "parallel":
            answers = self.shuffle(answers, self._session.charter.seed, f"{round.name}/{seat}")
        names = {name: name if turns.signed else letter for name, letter in self.labels.items()}
        return [
            *(fence_untrusted_text("answer", names[seat_name], text) for seat_name, text in answers),
            *self._repetition_warnings(moves, names),
        ]

    def _repetition_warnings(self, moves: Sequence[MoveMade], names: Mapping[str, str]) -> list[str]:
        """A warning for each answer that repeats what was rejected or has failed."""
        repeating: dict[str, list[str]] = {}
        untold: dict[str, RecalledEntry] = {}
        charter = self._session.charter
        for move in moves:
            entry = find_unanswered_decree_in_proposal(charter, move.verdict.position, move.text)
            if entry is not None:
                repeating.setdefault(entry.id, []).append(names[move.seat])
                untold |= {entry.id: entry} if entry in charter.untold else {}
        return [_render_memory(tuple(untold.values()))] * bool(untold) + [
            f"The proposal of {', '.join(sorted(set(seats)))} repeats {id} without answering the objections to it, "
            f"so it cannot win. Name {id} and say which objection is met and how, or propose something else."
            for id, seats in repeating.items()
        ]
