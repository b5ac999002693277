"""From what a person asks for to a charter: the meeting, its stages, its prompts and what the seats are shown."""
