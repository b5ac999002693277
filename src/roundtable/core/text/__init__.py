"""Text tools: redaction, sanitising, Markdown, diffs, chunks, file names, wording."""
