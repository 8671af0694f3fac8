"""Archive of a crawl's responses, here called answers: segments beside the store, and WARC files.

codec         compressors, with dictionaries
record        one answer as bytes: a header, then head and body compressed together; digests
packing       records of answers, in the workers that fetched them
unpacking     the answer of a record
segments      append-only files of records beside a store; the source of truth; a scan skips damage
headers       headers of a segment, in a file beside it that moves to the object store first
objects       finished files in an object store
index         an SQLite index of URLs and digests, rebuilt from the segments on demand
reader        finds, reads and verifies records without the store
replay        the response that an archive has for each request of a browser
appender      appends records in large writes
writer        appends answers behind the last commit, and trains dictionaries
pruning       which answers to delete
joining       joins the archives of shards
warc          answers as WARC and WACZ files
"""
