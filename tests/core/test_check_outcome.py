"""The reason of a failed check, in one line of its output."""

from __future__ import annotations

import pytest

from roundtable.core.effects import CheckOutcome

RUST = """thread 'tests::doubles' (66) panicked at src/lib.rs:6:20:
assertion `left == right` failed
  left: 2
 right: 4
error: test failed, to rerun pass `--lib`
"""


@pytest.mark.parametrize(
    ("said", "gist"),
    [
        ("Traceback\n  File x\nValueError: no\n\nFAILED (errors=1)\n", "ValueError: no"),
        (
            "E   assert 3 == 4\nFAILED test_a.py::test - assert 3 == 4\n1 failed\n",
            "FAILED test_a.py::test - assert 3 == 4",
        ),
        (RUST, "assertion `left == right` failed"),
        ("error[E0308]: mismatched types\nerror: could not compile\n", "error[E0308]: mismatched types"),
        ("a.ts(1,14): error TS2322: Not so.\n\nFound 1.\n", "a.ts(1,14): error TS2322: Not so."),
        ("one\nwant 4, got 5\n", "want 4, got 5"),
        ("", ""),
    ],
)
def test_the_summary_of_a_failed_check_is_the_last_line_with_an_error_or_the_last_line(said: str, gist: str) -> None:
    assert CheckOutcome("tests", (), 1, said).failure_line == gist
