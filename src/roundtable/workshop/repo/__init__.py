"""Git: what a repository holds, and every way a repository is changed."""
