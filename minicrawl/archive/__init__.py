"""The archive: every answer that was read, in files beside the store.

record     one answer as bytes: a header, and the head and the body compressed together
segments   files of records, one behind the other; the truth
index      where the records of a URL are, in SQLite; derived, made again from the segments
writer     appends records behind the last commit, and trains dictionaries
reader     finds, reads and verifies records, without the store
"""
