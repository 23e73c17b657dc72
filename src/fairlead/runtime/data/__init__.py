"""The data directory: who holds it, its format, room in reserve, backups, checks, and what is kept beside the store."""
