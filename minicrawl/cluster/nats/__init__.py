"""The engine over NATS JetStream: streams for logs, buckets for keys.

jetstream    requests, repeated until they are answered
streams      names and creation of a crawl's streams
connecting   the connection, with credentials; the engine made of all parts
logs         the logs of each shard: of its store, its kept pages and its snapshots
keys         small values that change
broadcasts   messages that nothing stores

Laws: nothing here knows the meaning of entries and values. A message is never larger than
servers accept by default. Passwords are in no message, log or store.
"""
