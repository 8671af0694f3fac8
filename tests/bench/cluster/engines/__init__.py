"""The engine of a cluster beside others that could have been it: the same appends, on this machine.

servers    a server in a folder of its own, started as the user that it wants, and what it costs
jetstream  NATS JetStream, as a shard's replica appends to it
postgres   PostgreSQL, alone and with a synchronous standby
redis      Redis, with a stream that is synced at each command
rabbit     RabbitMQ, with a quorum queue
measuring  what is done with each of them

Laws: an append counts when the engine has acknowledged it. Nothing is installed: an engine whose
programs or client are absent is said to be absent.
"""
