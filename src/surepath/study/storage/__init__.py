"""Where a study's log lives: one contract, and a storage for SQL databases and one in memory."""
