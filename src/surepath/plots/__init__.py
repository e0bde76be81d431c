"""Pictures of problems."""
