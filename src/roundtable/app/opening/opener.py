"""Builds the charter of a new meeting from an agenda, and records it: seats, limits, prompts and context."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

import msgspec

from roundtable.app.opening.agenda import Agenda
from roundtable.app.opening.context_window import (
    ContextRoom,
    compute_charter_answer_limit,
    compute_opening_context_room_for_seats,
)
from roundtable.app.opening.meeting_catalog import CatalogMeeting, MeetingCatalog
from roundtable.app.opening.opening_context import ContextGatherer
from roundtable.app.opening.preflight import (
    check_change_writable_before_opening,
    opening_notices_on_unwritable_files,
)
from roundtable.app.opening.stage_lists import (
    StageListCatalog,
    fill_opening_stage_settings,
    raise_charter_round_limit_for_stages,
)
from roundtable.app.parts import Parts
from roundtable.app.settings import config as settings
from roundtable.app.settings.configured_seats import list_configured_seats
from roundtable.app.settings.trust import cap_limits_in_workspace_config, workspace_trust_notices
from roundtable.core.decide import decrees
from roundtable.core.events import SessionOpened
from roundtable.core.faults import Fault, UsageError
from roundtable.core.text.slugs import make_slug_from_text
from roundtable.core.text.wording import pluralize
from roundtable.core.values import (
    SDLC_MEETING,
    Charter,
    ContextItem,
    Gate,
    Limits,
    Quorum,
    RecalledEntry,
    Seat,
    compute_digest,
)
from roundtable.meetings import Meeting
from roundtable.store.session_ids import generate_stored_session_id
from roundtable.voices.judge_voices import choose_default_judge_voices
from roundtable.workshop.identity import os_user_name

MAX_OPTIONS = 26

RecallEntries = Callable[[str], Awaitable[tuple[Sequence[RecalledEntry], Sequence[RecalledEntry]]]]
"""Returns the ledger entries that are relevant to a question, and the prohibitions that do not fit into the prompt."""


class Opener:
    """Opens meetings in one workspace."""

    def __init__(self, parts: Parts, recall: RecallEntries) -> None:
        self._parts = parts
        self._recall = recall
        config, workspace = parts.settings.config, parts.workspace
        trusted = partial(settings.is_workspace_trusted, parts.places, workspace)
        self.catalog = MeetingCatalog(parts.places, workspace, trusted)
        self.stage_lists = StageListCatalog(parts.places, workspace, trusted)
        self._gatherer = ContextGatherer(parts.redactor, workspace, config.context.ignore, tuple(config.checks))

    def find_meeting(self, name: str = "") -> CatalogMeeting:
        """Return a meeting by its name, or the configured one."""
        return self.catalog.find(name or self._parts.settings.config.table.meeting)

    def default_seats(self, meeting: str = "") -> tuple[Seat, ...]:
        """Return the seats of a meeting for which the person names none: the configured seats, else the preset's."""
        return list_configured_seats(self._parts.settings) or self.find_meeting(meeting).seats

    def default_limits(self, meeting: str = "") -> Limits:
        """Return the configured limits, overridden by the preset or data file; else with the meeting's own quorum."""
        chosen = self.find_meeting(meeting)
        limits = settings.merge_configured_limits(
            self._parts.settings.config.limits, self._cap_limits(chosen), f"meeting {chosen.name}"
        )
        return limits if limits.quorum != Quorum() else msgspec.structs.replace(limits, quorum=chosen.rules.quorum)

    def _cap_limits(self, meeting: CatalogMeeting) -> dict[str, Any]:
        """Return the limits in a meeting's file; those of a workspace's file stay within the person's limits."""
        if meeting.source != "workspace":
            return meeting.limits
        return cap_limits_in_workspace_config(self._parts.settings.limit_caps, meeting.limits)[0]

    async def open_session(self, agenda: Agenda, by: str = "") -> tuple[str, SessionOpened]:
        """Record the charter of an agenda, and return the session's id and its opening; no seat is asked yet."""
        charter, texts = await self.draft_charter(agenda, by)
        self.check_quorum(agenda)
        writes = self.find_meeting(agenda.meeting).rules.writes_files
        await check_change_writable_before_opening(
            self._parts.workspace, charter, self._parts.find_sandbox, writes_files=writes
        )
        session = generate_stored_session_id()
        slug = make_slug_from_text(charter.question, datetime.now(UTC).strftime("%Y-%m-%d"))
        opened = SessionOpened(msgspec.structs.replace(charter, slug=slug))
        record = self._parts.record
        await asyncio.gather(*(record.keep(text) for text in texts), record.append(session, opened))
        return session, opened

    async def draft_charter(self, agenda: Agenda, by: str = "") -> tuple[Charter, list[bytes]]:
        """Return the charter of an agenda and the texts it refers to; nothing is recorded."""
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
            filled = fill_opening_stage_settings(filled, seats, longest, agenda.answers)
            limits = raise_charter_round_limit_for_stages(limits, filled)
        chosen = settings.resolve_configured_meeting_settings(
            rules, config.meetings.get(rules.name, {}) | meeting.settings, filled
        )
        judging = any(round.turns.judging for round in rules.planned_rounds(chosen, agenda.options))
        seats = choose_default_judge_voices(seats, parts.endpoints) if judging else seats
        if limits.budget_usd == 0 and (paid := parts.tariffs.list_paid_voices(seats, judging=judging)):
            raise UsageError(
                f"A budget of $0 allows only free voices and subscription plans, but {paid[0]} may charge per token.",
                "Raise the budget. For a free server of your own, set `local = true` in its [endpoints] section.",
            )
        prompts = self.catalog.load_prompts(meeting, config.language)
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
            owner=by or os_user_name(),
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
        unwritable = partial(opening_notices_on_unwritable_files, parts.workspace, charter, gathered.shown)
        trust_notices = workspace_trust_notices(parts.settings.withheld, parts.settings.capped)
        notices = (
            *trust_notices,
            *gathered.notices,
            *(await asyncio.to_thread(unwritable) if rules.writes_files else ()),
        )
        charter = msgspec.structs.replace(charter, context=context, notices=notices)
        return charter, [*gathered.shown.values(), *prompts.values()]

    def check_seats(self, seats: Sequence[Seat]) -> dict[str, str]:
        """Return the seats without a usable voice (no program, no key, unknown endpoint), each with the reason."""
        silent: dict[str, str] = {}
        for seat in seats:
            voices = [self._parts.voices.find(voice) for voice in seat.voices]
            faults = [voice for voice in voices if isinstance(voice, Fault)]
            if len(faults) == len(seat.voices):
                reasons = " ".join(f"{fault.message} {fault.help}" for fault in faults)
                silent[seat.name] = reasons or "The seat has no voice."
        return silent

    def check_quorum(self, agenda: Agenda) -> dict[str, str]:
        """Return the seats that cannot speak, each with the reason; raise UsageError if the quorum cannot be met."""
        seats = agenda.seats or self.default_seats(agenda.meeting)
        quorum = (agenda.limits or self.default_limits(agenda.meeting)).quorum
        silent = self.check_seats(seats)
        speaking, needed = len(seats) - len(silent), max(1, min(quorum.seats, len(seats)))
        essential = [name for name in quorum.essential if name in silent]
        if silent and (speaking < needed or essential):
            required = ", ".join(essential) or needed
            raise UsageError(
                f"{speaking} of {len(seats)} seats can speak, but the quorum requires {required}.",
                "\n".join(f"Seat {name} cannot speak: {why}" for name, why in silent.items()),
            )
        return silent


def compute_charter_context_room(parts: Parts, charter: Charter, *, judging: bool = False) -> ContextRoom:
    """Return how much context fits into the windows of the seats; with `judging`, also of their judge voices."""
    max_tokens = parts.settings.config.context.tokens
    return compute_opening_context_room_for_seats(
        parts.tariffs, charter.seats, charter.limits, max_tokens, judging=judging
    )


def _check_agenda(agenda: Agenda, seats: Sequence[Seat], rules: Meeting, limits: Limits) -> None:
    names = [seat.name for seat in seats]
    if not agenda.question.strip():
        raise UsageError("The question is empty.", "Write what the meeting should decide.")
    if len(seats) < rules.minimum_seats:
        needed = f"{rules.minimum_seats} seats" if rules.minimum_seats > 1 else "one seat"
        alone = " To ask a single seat, run `roundtable discuss --seat NAME=VOICE`." if rules.minimum_seats > 1 else ""
        raise UsageError(
            f"The meeting {rules.name} needs at least {needed}.", f"Add seats with `--seat NAME=VOICE`.{alone}"
        )
    if len(set(names)) != len(names):
        raise UsageError("Two seats have the same name.", "Give each `--seat` a different name.")
    if limits.quorum.seats > max(len(seats), Quorum().seats):
        present = pluralize(len(seats), "seat")
        raise UsageError(f"{present} cannot meet a quorum of {limits.quorum.seats}.", "Lower the quorum or add seats.")
    if absent := set(limits.quorum.essential) - set(names):
        name = min(absent)
        raise UsageError(
            f"Required seat {name} is missing.", f"Add `--seat {name}=VOICE`, or remove {name} from `quorum.essential`."
        )
    gates = (*rules.gates, decrees.DECREE_GATE)
    gate_names = {Gate.split_numbered_id(gate)[0] for gate in gates}
    for id, answer in agenda.answers.items():
        name, number = Gate.split_numbered_id(id)
        if id not in gates and (number == 1 or name not in gate_names):
            raise UsageError(
                f"The meeting {rules.name} has no gate called {id}.", f"Gates of this meeting: {', '.join(gates)}."
            )
        allowed = rules.advance_answers.get(name, (answer,))
        if answer not in allowed:
            raise UsageError(
                f"Gate {id} does not accept the advance answer {answer}.", f"Choose one of: {', '.join(allowed)}."
            )
    if len(set(agenda.options)) != len(agenda.options) or len(agenda.options) == 1:
        raise UsageError("Give at least two different options.")
    if len(agenda.options) > MAX_OPTIONS:
        raise UsageError(f"There are {len(agenda.options)} options; at most {MAX_OPTIONS} are allowed.", "Remove some.")
