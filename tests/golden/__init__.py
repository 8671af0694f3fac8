"""What must stay as it is while the code is moved about: logs, an old store, and the surface."""
