"""Turns what a person brings into a charter: meeting, seats, limits, prompts and context; and puts it on the record."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from functools import partial

import msgspec

from roundtable.app.machine.judge_voices import assign_judge_voices
from roundtable.app.opening.agenda import Agenda
from roundtable.app.opening.context_window import ContextRoom, compute_charter_answer_limit, compute_context_room
from roundtable.app.opening.meeting_catalog import CatalogMeeting, MeetingCatalog
from roundtable.app.opening.opening_context import ContextGatherer
from roundtable.app.opening.preflight import check_writable_before_opening, describe_unwritable_files_before_opening
from roundtable.app.opening.session_ids import make_session_slug, new_session_id
from roundtable.app.opening.stage_lists import StageListCatalog, fill_charter_stage_settings, raise_charter_round_limit
from roundtable.app.parts import Parts
from roundtable.app.settings import config as settings
from roundtable.app.settings.configured_seats import list_configured_seats
from roundtable.core.decide import decrees
from roundtable.core.events import SessionOpened
from roundtable.core.faults import Fault, UsageError
from roundtable.core.values import (
    SDLC_MEETING,
    Charter,
    ContextItem,
    Limits,
    Quorum,
    RecalledEntry,
    Seat,
    compute_digest,
)
from roundtable.meetings import Meeting
from roundtable.voices.tariffs import Tariffs
from roundtable.workshop.identity import current_user_name

MOST_OPTIONS = 26

Recall = Callable[[str], Awaitable[tuple[Sequence[RecalledEntry], Sequence[RecalledEntry]]]]
"""The entries of the ledger that bear on a question, and the prohibitions that there is no room for."""


class Opener:
    """Opens the meetings of one workspace."""

    def __init__(self, parts: Parts, recall: Recall) -> None:
        self._parts = parts
        self._recall = recall
        config, workspace = parts.settings.config, parts.workspace
        trusted = partial(settings.is_workspace_trusted, parts.places, workspace)
        self.catalog = MeetingCatalog(parts.places, workspace, trusted)
        self.stage_lists = StageListCatalog(parts.places, workspace, trusted)
        self._gatherer = ContextGatherer(parts.redactor, workspace, config.context.ignore, tuple(config.checks))

    def find_meeting(self, name: str = "") -> CatalogMeeting:
        """A meeting by its name, or the configured one."""
        return self.catalog.find(name or self._parts.settings.config.table.meeting)

    def default_seats(self, meeting: str = "") -> tuple[Seat, ...]:
        """The seats of a meeting for which the person names none: the configured seats, else those of the preset."""
        return list_configured_seats(self._parts.settings) or self.find_meeting(meeting).seats

    def default_limits(self, meeting: str = "") -> Limits:
        """The configured limits, with what a preset or a data file sets over them, or the meeting's own quorum."""
        chosen = self.find_meeting(meeting)
        limits = settings.merge_configured_limits(
            self._parts.settings.config.limits, chosen.limits, f"meeting {chosen.name}"
        )
        return limits if limits.quorum != Quorum() else msgspec.structs.replace(limits, quorum=chosen.rules.quorum)

    async def open_session(self, agenda: Agenda, by: str = "") -> tuple[str, SessionOpened]:
        """Put the charter of an agenda on the record; no seat is asked yet."""
        charter, texts = await self.draft_charter(agenda, by)
        self.check_quorum(agenda)
        writes = self.find_meeting(agenda.meeting).rules.writes_files
        await check_writable_before_opening(
            self._parts.workspace, charter, self._parts.find_sandbox, writes_files=writes
        )
        session = new_session_id()
        slug = make_session_slug(charter.question, datetime.now(UTC).strftime("%Y-%m-%d"))
        opened = SessionOpened(msgspec.structs.replace(charter, slug=slug))
        record = self._parts.record
        await asyncio.gather(*(record.keep(text) for text in texts), record.append(session, opened))
        return session, opened

    async def draft_charter(self, agenda: Agenda, by: str = "") -> tuple[Charter, list[bytes]]:
        """The charter of an agenda, and the texts it refers to; nothing is on the record yet."""
        parts = self._parts
        parts.keys.learn_keychain_keys()
        config = parts.settings.config
        meeting = self.find_meeting(agenda.meeting)
        rules = meeting.rules
        seats = agenda.seats or self.default_seats(agenda.meeting)
        limits = agenda.limits or self.default_limits(agenda.meeting)
        _check_agenda(agenda, seats, rules, limits)
        filled = agenda.settings
        if rules.name == SDLC_MEETING:
            longest = compute_charter_answer_limit(parts.tariffs, seats, limits)
            filled = fill_charter_stage_settings(filled, seats, longest, agenda.answers)
            limits = raise_charter_round_limit(limits, filled)
        chosen = settings.resolve_configured_meeting_settings(
            rules, config.meetings.get(rules.name, {}) | meeting.settings, filled
        )
        judging = any(round.turns.judging for round in rules.planned_rounds(chosen, agenda.options))
        seats = assign_judge_voices(seats, parts.endpoints) if judging else seats
        if limits.budget_usd == 0 and (paid := list_paid_voices(parts.tariffs, seats, judging=judging)):
            raise UsageError(
                f"A budget of $0 leaves free voices and plans, and {paid[0]} may be paid by the token.",
                "Allow some money; a server of your own that costs nothing gets `local = true` in its [endpoints].",
            )
        prompts = self.catalog.prompts(meeting, config.language)
        recalled, untold = ((), ()) if agenda.fresh else await self._recall(agenda.question)
        charter = Charter(
            question=parts.redactor.redact(agenda.question),
            seats=tuple(seats),
            meeting=rules.name,
            version=rules.version,
            options=agenda.options,
            settings=chosen,
            limits=limits,
            recalled=tuple(recalled),
            untold=tuple(untold),
            templates={name: compute_digest(text) for name, text in prompts.items()},
            name=agenda.name,
            workspace=str(parts.workspace),
            opened_in=parts.opened_in,
            owner=by or current_user_name(),
            language=config.language,
            headless=agenda.headless,
            answers=agenda.answers,
            seed=random.SystemRandom().getrandbits(48) if agenda.seed is None else agenda.seed,
        )
        room = compute_charter_context_room(parts, charter, judging=judging)
        gathered = await self._gatherer.gather(
            agenda, room, project=rules.shows_project, may_ask=not rules.writes_files
        )
        context = tuple(ContextItem(name, compute_digest(data), len(data)) for name, data in gathered.shown.items())
        unwritable = partial(describe_unwritable_files_before_opening, parts.workspace, charter, gathered.shown)
        notices = (*gathered.notices, *(await asyncio.to_thread(unwritable) if rules.writes_files else ()))
        charter = msgspec.structs.replace(charter, context=context, notices=notices)
        return charter, [*gathered.shown.values(), *prompts.values()]

    def check_seats(self, seats: Sequence[Seat]) -> dict[str, str]:
        """The seats that have no usable voice (no program, no key, no such endpoint), each with the reason."""
        silent: dict[str, str] = {}
        for seat in seats:
            faults = [found for voice in seat.voices if isinstance(found := self._parts.voices.find(voice), Fault)]
            if len(faults) == len(seat.voices):
                silent[seat.name] = " ".join(f"{fault.message} {fault.help}" for fault in faults) or "It has no voice."
        return silent

    def check_quorum(self, agenda: Agenda) -> dict[str, str]:
        """The seats that cannot speak, each with the reason; a meeting without its quorum is refused."""
        seats = agenda.seats or self.default_seats(agenda.meeting)
        quorum = (agenda.limits or self.default_limits(agenda.meeting)).quorum
        silent = self.check_seats(seats)
        speaking, needed = len(seats) - len(silent), max(1, min(quorum.seats, len(seats)))
        essential = [name for name in quorum.essential if name in silent]
        if silent and (speaking < needed or essential):
            what = ", ".join(essential) or needed
            raise UsageError(
                f"{speaking} of {len(seats)} seats can speak, and the quorum needs {what}.",
                "\n".join(f"Seat {name} cannot speak: {why}" for name, why in silent.items()),
            )
        return silent


def compute_charter_context_room(parts: Parts, charter: Charter, *, judging: bool = False) -> ContextRoom:
    """How much context fits before the seats of a charter, and before their judges where some are judging."""
    most = parts.settings.config.context.tokens
    return compute_context_room(parts.tariffs, charter.seats, charter.limits, most, judging=judging)


def list_paid_voices(tariffs: Tariffs, seats: Sequence[Seat], *, judging: bool = False) -> list[str]:
    """The voices of these seats that are paid by the token; with those of their judges where some are judging."""
    voices = dict.fromkeys(voice for seat in seats for voice in seat.voice_chain(judging=judging))
    return [voice for voice in voices if tariffs.find_tariff(voice).paid == "tokens"]


def _check_agenda(agenda: Agenda, seats: Sequence[Seat], rules: Meeting, limits: Limits) -> None:
    names = [seat.name for seat in seats]
    if not agenda.question.strip():
        raise UsageError("The question is empty.", "Say what it is about.")
    if len(seats) < rules.minimum_seats:
        needed = f"{rules.minimum_seats} seats" if rules.minimum_seats > 1 else "a seat"
        alone = " To ask one seat alone: roundtable discuss --seat NAME=VOICE." if rules.minimum_seats > 1 else ""
        raise UsageError(
            f"The meeting {rules.name} needs at least {needed}.", f"Add some with --seat NAME=VOICE.{alone}"
        )
    if len(set(names)) != len(names):
        raise UsageError("Two seats have the same name.", "Give each --seat a name of its own.")
    if limits.quorum.seats > max(len(seats), Quorum().seats):
        raise UsageError(f"A quorum of {limits.quorum.seats} cannot be met by {len(seats)} seats.", "Lower the quorum.")
    if absent := set(limits.quorum.essential) - set(names):
        raise UsageError(f"The quorum needs {', '.join(sorted(absent))}, who is not at the table.", "Seat it, or not.")
    gates = (*rules.gates, decrees.DECREE_GATE)
    if unknown := {id for id in agenda.answers if id not in gates and not _asked_again(id, gates)}:
        known = f"Its gates: {', '.join(gates)}."
        raise UsageError(f"The meeting {rules.name} has no gate called {', '.join(sorted(unknown))}.", known)
    for id, answer in agenda.answers.items():
        allowed = rules.advance_answers.get(re.sub(r"-\d+$", "", id), (answer,))
        if answer not in allowed:
            raise UsageError(f"{answer} cannot be answered ahead to {id}.", f"Choose one of: {', '.join(allowed)}.")
    if len(set(agenda.options)) != len(agenda.options) or len(agenda.options) == 1:
        raise UsageError("Options must be at least two, and all different.")
    if len(agenda.options) > MOST_OPTIONS:
        raise UsageError(f"There are more than {MOST_OPTIONS} options.", "Ask for fewer.")


def _asked_again(gate: str, gates: Sequence[str]) -> bool:
    """Whether it is one of these gates under a number of its own: `decide-2`, where there is `decide`."""
    stem, _, number = gate.rpartition("-")
    return number.isdecimal() and stem in {re.sub(r"-\d+$", "", known) for known in gates}
