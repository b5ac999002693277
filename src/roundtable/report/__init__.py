"""Every sentence and rendering that people read: a session as text, Markdown, HTML and JSON. Pure."""
