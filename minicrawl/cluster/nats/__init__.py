"""The engine over NATS JetStream: streams for logs, buckets for keys and objects.

jetstream    requests, repeated until they are answered
streams      names and creation of a crawl's streams
connecting   the connection, with credentials; the engine made of all parts
logs         the log of each shard, and that of its kept pages
keys         small values that change, and beats
objects      large files
broadcasts   messages that nothing stores

Laws: nothing here knows the meaning of entries, values and objects. A message is never larger than
servers accept by default. Passwords are in no message, log or store.
"""
