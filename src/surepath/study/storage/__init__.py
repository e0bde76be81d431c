"""Where a study's log is kept: one contract, and a storage for SQL databases and one in memory."""
