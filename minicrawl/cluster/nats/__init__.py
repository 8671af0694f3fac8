"""The engine over NATS JetStream: streams for the logs, its stores for the rest.

asking      servers and access to them; a request, repeated until it is answered; errors in our
            words; names and creation of a crawl's streams
connecting  credentials, encryption and the connection; the engine made of all parts
logs        the parts that are streams: a log per shard, the object store, batches, broadcasts
keys        a bucket of JetStream's key-value store

Laws: nothing here knows the meaning of entries, values and objects. A message is never larger than
servers accept by default. Passwords are in no message, log or store.
"""
