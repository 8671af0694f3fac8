"""`minicrawl seed-set`: options, command and report."""
