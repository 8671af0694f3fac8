"""The archive: every answer that was read, in files beside the store.

record    one answer as bytes: a header, and the head and the body compressed together; what a
          worker does with an answer: it becomes a record where it was fetched
digest    by which bodies are known
segments  files of records, one behind the other; the truth
index     where the records of a URL are, in SQLite; derived, made again from the segments; which
          bodies are in the WARC files of a crawl; all records between two places, past any damage
reader    finds, reads and verifies records, without the store; what zstd knows of pages
          beforehand, trained on pages of the archive
writer    appends records behind the last commit; which records go
"""
