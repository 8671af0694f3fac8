"""What an SQLite file must have to be a store.

migrations  the tables, their version, and how an older store comes up to date
views       views with names in place of numbers, for people with sqlite3
"""
