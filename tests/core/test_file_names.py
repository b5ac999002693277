"""Test files are recognized by their names, like test runners do."""

from __future__ import annotations

import pytest

from roundtable.core.text.file_names import is_collected_test_file_name, is_sensitive_file_name, is_test_file_name


@pytest.mark.parametrize(
    "path",
    [
        *("test_a.py", "src/a_test.go", "web/A.spec.tsx", "web/a.test.js", "CartTest.java", "app/tests.py", "test.mjs"),
        *("test/slugify.js", "test/unit/slugify.mjs", "web/__tests__/x.tsx", "slugify-test.js", "lib/a-spec.ts"),
        *("test-x.cjs", "tests/x.rs", "crates/a/tests/x.rs"),
    ],
)
def test_files_that_test_runners_collect_are_recognized(path: str) -> None:
    assert is_collected_test_file_name(path)
    assert is_test_file_name(path)


@pytest.mark.parametrize(
    "path",
    [".env", ".env.local", ".envrc", ".env-prod", "deploy/kubeconfig", "prod.kubeconfig", "api/local.settings.json"],
)
def test_files_that_hold_secrets_are_recognized(path: str) -> None:
    assert is_sensitive_file_name(path)
    assert not is_sensitive_file_name(".env.example")


@pytest.mark.parametrize("path", ["tests/conftest.py", "tests/data/a.json", "tests/common/mod.rs", "__tests__/a.snap"])
def test_files_next_to_tests_are_test_files_that_are_not_collected(path: str) -> None:
    assert not is_collected_test_file_name(path)
    assert is_test_file_name(path)


@pytest.mark.parametrize(
    "path", ["src/latest.js", "contest.py", "docs/api-spec.md", "test-data.csv", "openapi-spec.json", "src/lib.rs"]
)
def test_other_files_are_not_test_files(path: str) -> None:
    assert not is_test_file_name(path)
