"""What a seat wants written, as far as it can be, and the same with parts of it left out or as they were."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import suppress
from pathlib import Path

import msgspec

from roundtable.core.changeset import DraftFile, Refusal, RefusalKind
from roundtable.core.decide.trial_outcome import is_evidence_check
from roundtable.core.effects import CheckOutcome
from roundtable.core.file_kinds import is_collected_test_file, is_test_file
from roundtable.workshop.edit.validation import validate_draft
from roundtable.workshop.symbols.languages import find_source_language
from roundtable.workshop.symbols.revert_edits import revert_unrelated_symbol_edits
from roundtable.workshop.trial.check_files import restore_check_file
from roundtable.workshop.trial.task_word_guesses import list_defined_names

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
"""What is refused for its name alone, whatever stands in it."""


class ProposedChange(msgspec.Struct, frozen=True):
    """What a seat's words come to on the workspace, what of them was refused, and what running it showed.

    `own` is what the seat itself changed of the draft that its words were laid over.
    `without` are new tests that are not to be written and `dropped` files that a new project does not get.
    `restored` are test and check files that keep their contents.
    `reverted` names symbols that it removed or changed without being asked.
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
        """Whether nothing shows what it is for."""
        return any(map(is_evidence_check, self.checks))

    @property
    def passes_all_but_evidence(self) -> bool:
        """Whether all of it can be written, and every check passed but that something shows what it is for."""
        return self.is_writable and all(check.passed or is_evidence_check(check) for check in self.checks)

    @property
    def passes_all_checks(self) -> bool:
        """Whether all of it can be written, and every check passed on it."""
        return self.is_writable and all(check.passed for check in self.checks)

    def with_failed_check(self, name: str, why: str) -> ProposedChange:
        """The same with a check of ours that did not pass; its first line is also what people are told."""
        return msgspec.structs.replace(self, checks=(*self.checks, CheckOutcome(name, (), 1, why)))


def revert_unrelated_candidate_edits(wish: ProposedChange, asked: Set[str], *, changed: bool) -> ProposedChange | None:
    """A wish that keeps what is not named in its files of code; none where it keeps all, or nothing else is left."""
    after: dict[str, bytes] = {}
    symbols: list[str] = []
    new = {name for file in wish.own_files if not is_test_change(file) for name in _new_names(file)}
    for file in wish.own_files:
        if file.before is None or file.after is None or file.was or is_test_change(file):
            continue
        made = revert_unrelated_symbol_edits(file.path, file.before, file.after, asked, new, changed=changed)
        if made.symbols:
            after[file.path] = made.source
            symbols += [f"{symbol} in {file.path}" for symbol in made.symbols]
    whole, own = (_with_contents(each, after) for each in (wish.files, wish.own_files))
    narrower = msgspec.structs.replace(
        wish, files=whole, own_files=own, refused=validate_draft(own), reverted=tuple(symbols)
    )
    return narrower if symbols and narrower.is_writable and changes_any_code(own) else None


def _with_contents(files: Sequence[DraftFile], after: Mapping[str, bytes]) -> tuple[DraftFile, ...]:
    """The same files, some with other contents; one that is as it was before is none."""
    now = [msgspec.structs.replace(file, after=after.get(file.path, file.after)) for file in files]
    return tuple(
        file
        for file in now
        if file.path not in after or (file.before, file.was_executable) != (file.after, file.executable)
    )


def _new_names(file: DraftFile) -> set[str]:
    """What a file defines that it did not before."""
    before, after = (list_defined_names(file.path, source) for source in (file.before, file.after))
    return after - before


def exclude_test_files(wish: ProposedChange) -> ProposedChange:
    """A wish for code alone: new tests are left out, and those that were there are as they were."""
    return msgspec.structs.replace(wish, files=tuple(file for file in wish.files if not is_test_change(file)))


def exclude_forbidden_files(wish: ProposedChange) -> ProposedChange:
    """What a seat wrote without the files that are barred by their names, if there is anything else."""
    dropped = tuple(refusal for refusal in wish.refused if refusal.kind in FORBIDDEN_PATH_REFUSALS)
    refused = tuple(refusal for refusal in wish.refused if refusal not in dropped)
    return msgspec.structs.replace(wish, refused=refused, dropped=dropped) if wish.own_files else wish


def exclude_new_tests(wish: ProposedChange) -> ProposedChange:
    """A wish without its new tests; those that went for them stay."""
    without = tuple(file.path for file in wish.own_files if is_new_test_file(file))
    gone = {file.path for file in wish.own_files if without and file.after is None and is_test_change(file)}
    files, own = (
        tuple(file for file in each if file.path not in gone.union(without)) for each in (wish.files, wish.own_files)
    )
    return msgspec.structs.replace(wish, files=files, own_files=own, excluded_tests=without)


def replace_candidate_tests(wish: ProposedChange, tests: Sequence[DraftFile]) -> ProposedChange:
    """A wish with these new files of tests instead of its own, and of what was refused of those."""
    gone = {file.path for file in (*wish.own_files, *tests) if is_new_test_module(file)}
    files, own = ((*(file for file in each if file.path not in gone), *tests) for each in (wish.files, wish.own_files))
    refused = (*(refusal for refusal in wish.refused if refusal.path not in gone), *validate_draft(tests))
    return msgspec.structs.replace(wish, files=files, own_files=own, refused=refused)


def candidate_defines_any(wish: ProposedChange, asked: Set[str]) -> bool:
    """Whether any of its files defines something new of these names."""
    return any(not asked.isdisjoint(_new_names(file)) for file in wish.own_files)


def suggest_new_test_path(files: Iterable[DraftFile], there: Iterable[str]) -> str:
    """A path beside what is there for tests of the first of these files that is code in Python; nothing without one.

    No two files of tests have one name: runners take them for one module.
    """
    code = next(
        (
            Path(file.path).stem
            for file in files
            if file.after and file.path.endswith(".py") and not is_test_change(file)
        ),
        "",
    )
    paths = [Path(path) for path in there]
    folder = next((name for name in ("tests", "test") if any(path.parts[0] == name for path in paths)), "")
    taken = {path.name for path in paths}
    names = (f"test_{code}{number}.py" for number in ("", *(f"_{suffix}" for suffix in range(2, 100))))
    return next((str(Path(folder, name)) for name in names if name not in taken), "") if code else ""


def restore_check_files(files: Sequence[DraftFile], measures: Sequence[DraftFile]) -> tuple[DraftFile, ...]:
    """The same files, with what a check is measured by as it was."""
    paths = {file.path for file in measures}
    kept = ((restore_check_file(file) if file.path in paths else file) for file in files)
    return tuple(file for file in kept if file is not None)


def changes_any_code(files: Sequence[DraftFile]) -> bool:
    """Whether any of them, tests aside, is in a language that programs are written in."""
    return any(find_source_language(file.path) is not None and not is_test_file(file.path) for file in files)


def is_test_change(file: DraftFile) -> bool:
    return is_test_file(file.path) or is_test_file(file.was)


def is_new_test_file(file: DraftFile) -> bool:
    return file.before is None and is_test_change(file)


def is_new_test_module(file: DraftFile) -> bool:
    return is_new_test_file(file) and is_collected_test_file(file.path)


def is_changed_test_file(file: DraftFile) -> bool:
    return file.before is not None and file.before != file.after and is_test_change(file)


def collect_tests_by_seat(wishes: Iterable[ProposedChange]) -> dict[str, dict[str, str]]:
    """The tests that seats wrote, by seat; of those whose files can be written."""
    return {change.seat: read_test_sources(change.own_files) for change in wishes if change.is_writable}


def read_test_sources(files: Sequence[DraftFile]) -> dict[str, str]:
    """The files of tests among these, by their text; what is no text in UTF-8 is none."""
    found: dict[str, str] = {}
    for file in files:
        if file.after is not None and is_test_file(file.path):
            with suppress(UnicodeDecodeError):
                found[file.path] = file.after.decode()
    return found
