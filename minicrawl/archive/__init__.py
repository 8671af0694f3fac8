"""Archive of the answers that a crawl read: one record of an answer, in two packagings.

record    one answer as bytes: a header, then head and body compressed together; body digests;
          packing of answers in the workers that fetched them
segments  append-only files of records beside a store; the source of truth
index     SQLite index of the records by URL and by digest, rebuilt from the segments on demand;
          a scan that skips damage; an index of the bodies in WARC files
reader    finds, reads and verifies records without the store
writer    appends records behind the last commit, trains dictionaries, joins archives, prunes
warc      the same answers as WARC and WACZ: exported, or written while a crawl runs
"""
