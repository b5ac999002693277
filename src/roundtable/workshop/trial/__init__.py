"""Trials of candidates: find checks and interpreters, run candidates, compare them by probes, and judge the results."""
