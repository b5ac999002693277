"""What people and programs see of a session: pure functions of its fold."""

from roundtable.core.views.clean import clean, one_line

__all__ = ["clean", "one_line"]
