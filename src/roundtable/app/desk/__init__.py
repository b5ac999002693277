"""The desk: the only part of the app that doors, tests and embedding programs use.

`Roundtable` has six parts: `meetings`, `sessions`, `gates`, `memory`, `changes` and `setup`. Names are imported when
they are first used, so that a command loads only what it needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roundtable.app.cost.quote import CostRange, MeetingQuote, SeatQuote
    from roundtable.app.desk.changes import CodeSource
    from roundtable.app.desk.roundtable import Roundtable
    from roundtable.app.desk.setup import Setup
    from roundtable.app.effects.undo_change import UndoableChange
    from roundtable.app.machine.discovery import DiscoveredSeat, EndpointState
    from roundtable.app.machine.doctor import DoctorReport
    from roundtable.app.machine.embedded_models import ModelState
    from roundtable.app.machine.fault_check import FaultReport, Finding
    from roundtable.app.machine.isolation import Isolation
    from roundtable.app.machine.seat_check import Participant, VoiceCheck
    from roundtable.app.machine.skills import SkillAgent
    from roundtable.app.machine.surroundings import Program
    from roundtable.app.opening.agenda import Agenda
    from roundtable.app.opening.code_changes import CodeChanges
    from roundtable.app.opening.judge_question import ChatExchange
    from roundtable.app.opening.meeting_catalog import CatalogMeeting
    from roundtable.app.opening.stage_lists import StageOptions
    from roundtable.app.records.export import EXPORT_SUFFIXES, PRINT_INSTEAD_HELP
    from roundtable.app.records.forget import RemovedSessions
    from roundtable.app.records.session_project import ProjectVersion
    from roundtable.app.records.workspace_files import FolderWrite
    from roundtable.app.records.workspace_worktrees import ListedWorktree
    from roundtable.app.runs.open_gates import OpenGate
    from roundtable.app.settings.config import Config, Settings
    from roundtable.app.settings.places import Places
    from roundtable.app.settings.secrets import KeyState
    from roundtable.app.settings.settings_view import Setting
    from roundtable.app.settings.trust import SettingChange, TrustBefore, TrustRequest
    from roundtable.app.settings.write_config import ConfigDraft

NAMES = {
    "Agenda": "roundtable.app.opening.agenda",
    "CodeSource": "roundtable.app.desk.changes",
    "Config": "roundtable.app.settings.config",
    "EXPORT_SUFFIXES": "roundtable.app.records.export",
    "PRINT_INSTEAD_HELP": "roundtable.app.records.export",
    "Places": "roundtable.app.settings.places",
    "Roundtable": "roundtable.app.desk.roundtable",
    "Settings": "roundtable.app.settings.config",
    "Setup": "roundtable.app.desk.setup",
    "StageOptions": "roundtable.app.opening.stage_lists",
}
"""The modules of the names that exist at run time; all other names are only types."""


def __getattr__(name: str) -> Any:
    if name not in NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(NAMES[name]), name)


__all__ = [
    "EXPORT_SUFFIXES",
    "PRINT_INSTEAD_HELP",
    "Agenda",
    "CatalogMeeting",
    "ChatExchange",
    "CodeChanges",
    "CodeSource",
    "Config",
    "ConfigDraft",
    "CostRange",
    "DiscoveredSeat",
    "DoctorReport",
    "EndpointState",
    "FaultReport",
    "Finding",
    "FolderWrite",
    "Isolation",
    "KeyState",
    "ListedWorktree",
    "MeetingQuote",
    "ModelState",
    "OpenGate",
    "Participant",
    "Places",
    "Program",
    "ProjectVersion",
    "RemovedSessions",
    "Roundtable",
    "SeatQuote",
    "Setting",
    "SettingChange",
    "Settings",
    "Setup",
    "SkillAgent",
    "StageOptions",
    "TrustBefore",
    "TrustRequest",
    "UndoableChange",
    "VoiceCheck",
]
