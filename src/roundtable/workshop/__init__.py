"""The bench: what a decision becomes; changesets, worktrees and sandboxes will live here."""
