"""`minicrawl crawl`: the command, its display and its log."""
