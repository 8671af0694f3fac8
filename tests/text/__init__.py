"""Main text of pages: by hand first, then known pages, then hostile ones."""
