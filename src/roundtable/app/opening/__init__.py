"""Opens meetings: builds the charter from an agenda, with its stages, prompts and context."""
