"""Agent command lines as voices: each described by a data file, all run by one runner under one watcher."""
