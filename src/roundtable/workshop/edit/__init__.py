"""A change on its way to the workspace: drafted, checked, rehearsed, written through a journal, and undone."""
