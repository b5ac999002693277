"""Performs the effects of meetings: stores drafts, runs candidates, applies and undoes changes."""
