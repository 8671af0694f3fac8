"""Archive of the answers that a crawl read, in files beside the store.

record    encodes one answer as bytes: a header, then head and body compressed together; packs
          answers in the workers that fetched them; body digests, for deduplication
segments  append-only files of records; the source of truth
index     SQLite index of the records by URL and by digest, rebuilt from the segments on demand; a
          scan of the records that skips damage; which bodies a crawl has written to WARC files
reader    finds, reads and verifies records without the store; joins archives of shards; trains
          zstd dictionaries on archived pages
writer    appends records behind the last commit; prunes old ones
warc      the same answers as web archives: WARC and WACZ
"""
