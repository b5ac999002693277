"""Trials of candidates: collect checks, run every candidate, compare them, and judge what that showed."""
