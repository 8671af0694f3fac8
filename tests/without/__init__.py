"""A room beside the core is deleted in a copy, and the core's tests pass: `python -m tests.without`.

The laws are in HOUSES: the core imports no room, `--help` works without one, and a command that is
gone says what brings it.
"""
