"""Record what a turn has changed.

recorder            applies changes to the frontier at once, and has them committed
commits             rows wait in memory; one thread writes them to the store in batches
known_rows          reads pages and hosts, committed or not; looks URLs up
store_with_archive  writes the responses of a batch before it commits the batch
archiving           opens archive and WARC files as of the last commit; prunes the archive
moving              moves finished files to an object store
"""
