"""A room beside the core is deleted in a copy, and the core's tests pass there.

Laws: the core imports no room; `--help` works without one, and is as fast; a command that is gone
says what brings it.
"""
