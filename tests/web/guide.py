"""The SQL of the guide "Running it for a team", for the tests that run it."""

TABLES = ", ".join(
    f"surepath_{name}"
    for name in ("studies", "heads", "changes", "trials", "actions", "queue", "requests", "snapshots")
)
GRANTS = [
    "CREATE ROLE surepath_worker LOGIN",
    f"GRANT SELECT, INSERT, UPDATE, DELETE ON {TABLES} TO surepath_worker",
    "GRANT SELECT ON surepath_version TO surepath_worker",
]
READER_GRANTS = ["CREATE ROLE surepath_reader LOGIN", "GRANT SELECT ON ALL TABLES IN SCHEMA public TO surepath_reader"]
