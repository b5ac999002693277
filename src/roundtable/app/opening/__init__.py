"""Opens meetings: builds the charter from an agenda, with stages, prompts, and context files by relevance and room."""
