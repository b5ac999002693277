"""Whatever a program does to its standard error, no known secret comes out of it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.core.test_redaction import token

SECRET = "lab/" + token(24, seed=51)

PROGRAM = f"""
import logging, sys, traceback, warnings
import click
from rich.console import Console
from roundtable.doors.cli.stderr import redact_cli_stderr
from roundtable.core.text.redaction import Redactor

with redact_cli_stderr(Redactor(["{SECRET}"])):
    click.echo("✓ click {SECRET}", err=True)
    click.secho("✓ red {SECRET}", err=True, fg="red")
    print("print {SECRET}", file=sys.stderr)
    sys.stderr.writelines(["lines {SECRET}\\n", "more {SECRET}\\n"])
    logging.warning("log {SECRET}")
    warnings.warn("warning {SECRET}")
    Console(stderr=True).print("rich {SECRET}", soft_wrap=True)
    try:
        sys.stderr.buffer.write(b"bytes {SECRET}")
    except AttributeError:
        traceback.print_exc()
    sys.stderr.write("no end of line {SECRET}")
"""


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_no_secret_reaches_standard_error_whatever_writes_to_it(encoding: str) -> None:
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONIOENCODING": encoding},
        capture_output=True,
        text=True,
        check=True,
    )
    assert SECRET not in process.stderr
    for word in ("click", "red", "print", "lines", "more", "WARNING:root:log", "warning", "rich", "no end of line"):
        assert f"{word} [redacted:known-key]" in process.stderr
    assert "AttributeError" in process.stderr
