"""Archive of a crawl's responses, here called answers: segments beside the store, and WARC files.

record       one answer as bytes: a header, then head and body compressed together; body digests;
             packing of answers in the workers that fetched them
segments     append-only files of records beside a store; the source of truth
reader       finds, reads and verifies records without the store, by an SQLite index of URLs and
             digests that is rebuilt from the segments on demand; a scan that skips damage
writer       appends records behind the last commit, trains dictionaries, joins archives, prunes
warc         writes answers as WARC and WACZ; the key that signs WACZ files
warc_series  WARC files that are written while a crawl runs; the bodies in them and in an earlier
             archive, which are not written again
"""
