"""The engine over NATS JetStream: streams for the logs, its stores for the rest.

settings    where the servers are, and how to be let in
credentials what servers are shown: passwords, JWTs, nkeys and certificates
encrypted   a connection that must be encrypted tells nothing to a server that does not encrypt
asking      one request, again and again until somebody answers, and errors in our words
streams     the names of the streams of a crawl, and how they are made
logs        a stream for each shard
batches     one stream for all batches, from which what is done is removed
keys        a bucket of JetStream's key-value store
broadcasts  plain messages, which no stream keeps
objects     a bucket of JetStream's object store
connecting  the connection, and all of it as one engine

Laws: nothing here knows what entries, values and objects mean. A message is never larger than what
servers take by default. Passwords are in no message, log or store.
"""
