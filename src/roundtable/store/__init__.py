"""The record: SQLite, blobs, migrations, leases."""
