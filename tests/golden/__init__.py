"""Golden files: logs, an old store and the surface, none of which refactoring may change."""
