"""The crawl: lease -> fetch -> read -> settle -> commit."""
