"""Text tools: redaction, sanitising, Markdown, diffs, file names, wording."""
