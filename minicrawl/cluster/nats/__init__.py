"""The engine over NATS JetStream: streams for the logs, its stores for the rest.

asking      one request, again and again until somebody answers, and errors in our words; where
            the servers are, and how to be let in; the names of the streams of a crawl, and how
            they are made
connecting  the connection, and all of it as one engine; what servers are shown: passwords, JWTs,
            nkeys and certificates; a connection that must be encrypted tells nothing to a server
            that does not encrypt
logs        a stream for each shard; a bucket of JetStream's object store; one stream for all
            batches, from which what is done is removed; plain messages, which no stream keeps
keys        a bucket of JetStream's key-value store

Laws: nothing here knows what entries, values and objects mean. A message is never larger than what
servers take by default. Passwords are in no message, log or store.
"""
