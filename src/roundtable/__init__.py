"""Several models at one table, an argument on the record, a decision the person controls."""

__version__ = "0.1.0"
