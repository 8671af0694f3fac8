"""Example additions to minicrawl: a module for each kind of entry point."""
