"""Delete optional rooms from a copy of the project; the core's tests must pass there.

Laws: the core imports no room; `--help` works without any room; a missing command exits with 2 and
names the room that it needs.
"""
