"""Git: reads repositories, commits to them, and creates worktrees and scratch copies."""
