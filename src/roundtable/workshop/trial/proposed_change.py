"""A proposed change: what a candidate writes to the workspace, and variants of it with parts excluded or restored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import suppress
from pathlib import Path

import msgspec

from roundtable.core.candidate_reasons import CheckFinding
from roundtable.core.changeset import DraftFile
from roundtable.core.decide.trial_outcome import EVIDENCE_CHECKS
from roundtable.core.effects import CheckKind, CheckOutcome
from roundtable.core.refusals import Refusal, RefusalKind
from roundtable.core.text.file_names import is_collected_test_file_name, is_test_file_name
from roundtable.workshop.edit.validation import validate_edited_files
from roundtable.workshop.symbols.languages import find_source_language
from roundtable.workshop.symbols.outline import list_defined_symbol_names
from roundtable.workshop.symbols.revert_edits import revert_unrelated_symbol_edits
from roundtable.workshop.trial.check_files import restore_trial_check_file

FORBIDDEN_PATH_REFUSALS = frozenset(
    {
        RefusalKind.ABSOLUTE,
        RefusalKind.TRAVERSAL,
        RefusalKind.REPOSITORY,
        RefusalKind.OURS,
        RefusalKind.SENSITIVE,
        RefusalKind.RESERVED,
        RefusalKind.ENCODED,
    }
)
"""Refusals that are due to the path alone, regardless of the content."""


class ProposedChange(msgspec.Struct, frozen=True):
    """The files that a seat's reply changes, what of it was refused, and the results of running it.

    `own_files` are the seat's own changes to the draft that its reply is based on.
    `excluded_tests` are new tests that are not written, `dropped` files that a new project does not get.
    `restored` are test and check files that keep their contents.
    `reverted` names symbols that were restored because the seat removed or changed them without being asked.
    """

    seat: str
    files: tuple[DraftFile, ...]
    refused: tuple[Refusal, ...]
    own_files: tuple[DraftFile, ...] = ()
    checks: tuple[CheckOutcome, ...] = ()
    excluded_tests: tuple[str, ...] = ()
    dropped: tuple[Refusal, ...] = ()
    restored: tuple[str, ...] = ()
    reverted: tuple[str, ...] = ()
    round: str = ""

    @property
    def is_writable(self) -> bool:
        """Whether all of it can be written."""
        return bool(self.own_files) and not self.refused

    @property
    def lacks_evidence(self) -> bool:
        """Whether nothing shows that it does what it is for."""
        return any(check.kind in EVIDENCE_CHECKS for check in self.checks)

    @property
    def passes_all_but_evidence(self) -> bool:
        """Whether all of it can be written, and every check passed except those for evidence."""
        return self.is_writable and all(check.passed or check.kind in EVIDENCE_CHECKS for check in self.checks)

    @property
    def passes_all_checks(self) -> bool:
        """Whether all of it can be written, and every check passed."""
        return self.is_writable and all(check.passed for check in self.checks)

    def with_failed_check(self, kind: CheckKind, finding: CheckFinding) -> ProposedChange:
        """Return the change with a failed built-in check."""
        return msgspec.structs.replace(self, checks=(*self.checks, CheckOutcome.built_in(kind, finding)))


def revert_unrelated_edits_for_trial(
    change: ProposedChange, task_names: Set[str], *, changed: bool
) -> ProposedChange | None:
    """Restore code that the task does not name; None if nothing was restored or no change of code is left."""
    restored_sources: dict[str, bytes] = {}
    symbols: list[str] = []
    new_names = {name for file in change.own_files if not is_trial_test_change(file) for name in _names_added_by(file)}
    for file in change.own_files:
        if file.before is None or file.after is None or file.was or is_trial_test_change(file):
            continue
        restored = revert_unrelated_symbol_edits(
            file.path, file.before, file.after, task_names, new_names, changed=changed
        )
        if restored.symbols:
            restored_sources[file.path] = restored.source
            symbols += [f"{symbol} in {file.path}" for symbol in restored.symbols]
    files, own_files = (_replace_contents(draft, restored_sources) for draft in (change.files, change.own_files))
    narrower = msgspec.structs.replace(
        change, files=files, own_files=own_files, refused=validate_edited_files(own_files), reverted=tuple(symbols)
    )
    return narrower if symbols and narrower.is_writable and has_trial_code_changes(own_files) else None


def _replace_contents(files: Sequence[DraftFile], contents: Mapping[str, bytes]) -> tuple[DraftFile, ...]:
    """Return the files with new contents for some; a file without any change is left out."""
    replaced = [msgspec.structs.replace(file, after=contents.get(file.path, file.after)) for file in files]
    return tuple(
        file
        for file in replaced
        if file.path not in contents or (file.before, file.was_executable) != (file.after, file.executable)
    )


def _names_added_by(file: DraftFile) -> set[str]:
    """Return the names that a file defines and did not define before."""
    before, after = (list_defined_symbol_names(file.path, source) for source in (file.before, file.after))
    return after - before


def exclude_test_files_from_trial(change: ProposedChange) -> ProposedChange:
    """Return the change without its test files: new tests are excluded, existing ones stay as they were."""
    return msgspec.structs.replace(change, files=tuple(file for file in change.files if not is_trial_test_change(file)))


def exclude_forbidden_files_from_trial(change: ProposedChange) -> ProposedChange:
    """Return the change without files with forbidden paths, if it has other files."""
    dropped = tuple(refusal for refusal in change.refused if refusal.kind in FORBIDDEN_PATH_REFUSALS)
    refused = tuple(refusal for refusal in change.refused if refusal not in dropped)
    return msgspec.structs.replace(change, refused=refused, dropped=dropped) if change.own_files else change


def exclude_new_tests_from_trial(change: ProposedChange) -> ProposedChange:
    """Return the change without its new tests. Tests that it deletes in return are kept."""
    excluded = tuple(file.path for file in change.own_files if is_new_trial_test_file(file))
    skipped = {file.path for file in change.own_files if excluded and file.after is None and is_trial_test_change(file)}
    files, own_files = (
        tuple(file for file in draft if file.path not in skipped.union(excluded))
        for draft in (change.files, change.own_files)
    )
    return msgspec.structs.replace(change, files=files, own_files=own_files, excluded_tests=excluded)


def replace_tests_for_trial(change: ProposedChange, tests: Sequence[DraftFile]) -> ProposedChange:
    """Return the change with these new test files instead of its own."""
    replaced = {file.path for file in (*change.own_files, *tests) if is_new_trial_test_module(file)}
    files, own_files = (
        (*(file for file in draft if file.path not in replaced), *tests) for draft in (change.files, change.own_files)
    )
    refused = (*(refusal for refusal in change.refused if refusal.path not in replaced), *validate_edited_files(tests))
    return msgspec.structs.replace(change, files=files, own_files=own_files, refused=refused)


def trial_candidate_defines_any(change: ProposedChange, names: Set[str]) -> bool:
    """Tell whether the change defines any of these names that did not exist before."""
    return any(not names.isdisjoint(_names_added_by(file)) for file in change.own_files)


def suggest_trial_test_path(files: Iterable[DraftFile], existing: Iterable[str]) -> str:
    """Return a free path for tests of the first Python code file among these; empty without one.

    No two test files get the same name, because test runners would take them for one module.
    """
    module = next(
        (
            Path(file.path).stem
            for file in files
            if file.after and file.path.endswith(".py") and not is_trial_test_change(file)
        ),
        "",
    )
    paths = [Path(path) for path in existing]
    folder = next((name for name in ("tests", "test") if any(path.parts[0] == name for path in paths)), "")
    taken = {path.name for path in paths}
    names = (f"test_{module}{number}.py" for number in ("", *(f"_{suffix}" for suffix in range(2, 100))))
    return next((str(Path(folder, name)) for name in names if name not in taken), "") if module else ""


def restore_check_files_for_trial(
    files: Sequence[DraftFile], check_files: Sequence[DraftFile]
) -> tuple[DraftFile, ...]:
    """Return the files with their check parts restored."""
    paths = {file.path for file in check_files}
    restored = ((restore_trial_check_file(file) if file.path in paths else file) for file in files)
    return tuple(file for file in restored if file is not None)


def has_trial_code_changes(files: Sequence[DraftFile]) -> bool:
    """Tell whether any of the files, except tests, is in a programming language."""
    return any(find_source_language(file.path) is not None and not is_test_file_name(file.path) for file in files)


def is_trial_test_change(file: DraftFile) -> bool:
    return is_test_file_name(file.path) or is_test_file_name(file.was)


def is_new_trial_test_file(file: DraftFile) -> bool:
    return file.before is None and is_trial_test_change(file)


def is_new_trial_test_module(file: DraftFile) -> bool:
    return is_new_trial_test_file(file) and is_collected_test_file_name(file.path)


def is_changed_trial_test_file(file: DraftFile) -> bool:
    return file.before is not None and file.before != file.after and is_trial_test_change(file)


def collect_trial_tests(changes: Iterable[ProposedChange]) -> dict[str, dict[str, str]]:
    """Return the tests of each seat whose files can be written."""
    return {change.seat: read_trial_test_sources(change.own_files) for change in changes if change.is_writable}


def read_trial_test_sources(files: Sequence[DraftFile]) -> dict[str, str]:
    """Return the texts of the test files among these; files that are not UTF-8 are skipped."""
    texts: dict[str, str] = {}
    for file in files:
        if file.after is not None and is_test_file_name(file.path):
            with suppress(UnicodeDecodeError):
                texts[file.path] = file.after.decode()
    return texts
