"""The files of a store: who may write them, what they hold as bytes, and what a disk may damage.

files      all files of a store, moved together
lock       one writer for a store
wal        the write-ahead log as bytes, read and replayed
integrity  what a check of a store asks
trouble    SQLite errors as one-line messages
"""
