"""Archive of a crawl's responses, here called answers: segments beside the store, and WARC files.

digest        identifies equal bodies
codec         compressors, with dictionaries
record        one answer as bytes: a header, then head and body compressed together
unpacking     the answer of a record
packing       records of answers, in the workers that fetched them
segments      append-only files of records beside a store; the source of truth
scan          iterates over records, and skips damage
index         an SQLite index of URLs and digests, rebuilt from the segments on demand
reader        finds, reads and verifies records without the store
appender      appends records in large writes
writer        appends answers behind the last commit
dictionaries  trains dictionaries on archived pages
pruning       which answers to delete
joining       joins the archives of shards
warc          answers as WARC and WACZ files
"""
