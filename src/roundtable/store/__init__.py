"""Stores the record: in SQLite or in memory, with blobs, leases, the ledger and the index of sessions."""
