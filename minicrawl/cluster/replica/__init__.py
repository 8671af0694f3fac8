"""The replica of a shard's store: its SQLite write-ahead log, shipped to the engine.

A shard can move to another machine because its store exists twice: as a SQLite file on the node's
disk, and as a *snapshot* of that file plus a *log* in the engine. A log entry has the bytes that
SQLite appended to its write-ahead log (WAL), compressed. A commit counts when its entry is
confirmed. Bytes are shipped, not rows or SQL: the restored file cannot differ from the original,
and new tables need no code here.

    node A                            engine: log of shard 3
    commit, WAL bytes 0-8192          1  FIRST  offset 0
    commit, WAL bytes 8192-12288      2  MORE   offset 8192
    SQLite folds the WAL into the file; a snapshot of the file as of entry 2 goes to a log of its
    own, and entries 1 and 2 are removed
    commit, WAL bytes 0-4096          3  FIRST  offset 0
    (A is cut off)                    4  TAKEN  appended by node B
    A appends after entry 3           refused, since the last entry is 4: A raises Fenced and stops

    node B                            loads the snapshot, lays entry 3 beside it as a WAL, and folds
                                      it into the file: the store as of A's last confirmed commit

So the log itself fences. Each append names the entry that its writer knows as the last one, so a
node that has lost the shard without knowing it cannot write. Leases and clocks decide only when B
tries.

Laws: an entry is appended only after the last one. A restored store is what its writer had after
its last confirmed commit; a later commit that was cut off does not count.

entries     format of the entries of all logs of a shard
shard_log   takes a log over, reads and writes it
snapshots   the file of a store in the log of snapshots, and the entry up to which it goes
restoring   builds a store from snapshot and log, and takes a shard over
shipping    sends the commits of a `StoreWriter` to the engine
kept_pages  the archive of a shard's kept pages, as a second log
"""
