"""The bench: where a decision becomes files that were run, read and approved."""
