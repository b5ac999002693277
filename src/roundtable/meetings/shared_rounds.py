"""Rounds and questions that several meetings share."""

from __future__ import annotations

from collections.abc import Sequence

from roundtable.core.decide.claims import decide_claims_of_round_by_proofs
from roundtable.core.decide.positions import PositionRatings, positions_counted_in_decision
from roundtable.core.effects import ClaimsProven, ProveClaims, ReadFiles, RunChecks
from roundtable.core.ports import Table
from roundtable.core.reasons import Reasons
from roundtable.core.values import Expect, Gate, Prompt, Proposal, Round, Turns
from roundtable.meetings.meeting import PlannedRound
from roundtable.report.reasons import describe_reasons

APPLY_HINT = "with `roundtable apply`"
"""The words of a gate about the command that carries out a decision."""

RATING_ROUND = PlannedRound("ballot", "ratings", Turns(visibility="own", secret=True))


def render_meeting_prompt_options(task: str, options: Sequence[str]) -> str:
    """The list of options in a prompt, with the task in front; empty if there are no options."""
    return "\n".join((f"{task} exactly one of these:", *(f"- {option}" for option in options))) if options else ""


async def hold_position_ballot(table: Table, name: str, answers: Round) -> PositionRatings:
    """Hold one secret ballot on which positions each seat finds the same as its own, acceptable or opposed."""
    positions = positions_counted_in_decision(answers)
    labels = {seat: table.labels[seat] for seat in positions}
    ballot = await table.ask(
        name,
        Prompt(
            RATING_ROUND.template,
            lists={"positions": tuple(f"{labels[seat]}: {text}" for seat, text in positions.items())},
        ),
        expect=Expect(RATING_ROUND.codec, tuple(sorted(labels.values()))),
        seats=tuple(positions),
        turns=RATING_ROUND.turns,
    )
    return {move.seat: move.verdict.ratings for move in ballot.moves if move.verdict.counts}


async def ask_meeting_choice_gate(
    table: Table, reasons: Reasons, proposals: Sequence[Proposal], preface: str = ""
) -> str:
    """Ask the person to choose one of the proposals; returns an empty string if nobody chooses."""
    details = {proposal.id: proposal.text for proposal in proposals}
    question = " ".join(filter(None, (preface, describe_reasons(reasons), "Which proposal do you choose?")))
    choice = await table.gate(Gate("choose", question, (*details, "none"), default="none", details=details))
    return "" if choice == "none" else choice


MAX_REQUESTED_FILES = 8
MAX_REQUESTED_CHECKS = 3


async def fulfill_seat_requests_in_meeting(table: Table, round: Round) -> None:
    """Show all seats the files that seats requested in this round, and run the requested checks, each once."""
    requests = [move.verdict.wants for move in round.moves if move.verdict.counts]
    files = tuple(dict.fromkeys(path for wants in requests for path in wants.files))[:MAX_REQUESTED_FILES]
    checks = tuple(dict.fromkeys(name for wants in requests for name in wants.checks))[:MAX_REQUESTED_CHECKS]
    if files:
        await table.do(f"{round.name}/files", ReadFiles(files))
    if checks:
        await table.do(f"{round.name}/checks", RunChecks(checks))


async def prove_meeting_claims(table: Table, round: Round, earlier: Sequence[Round] = ()) -> Round:
    """The round with its claims settled by running their proofs; unchanged if nothing could be run."""
    claimed = any(move.verdict.claims for move in round.moves if move.verdict.counts)
    result = await table.do(f"{round.name}/proofs", ProveClaims((round.name,))) if claimed else None
    return decide_claims_of_round_by_proofs(round, result.proofs if isinstance(result, ClaimsProven) else (), earlier)


def render_meeting_prompt_candidates(candidates: Sequence[Proposal]) -> tuple[str, ...]:
    """The candidates of a vote as the seats see them."""
    return tuple(f"{candidate.id}: {candidate.text}" for candidate in candidates)
