"""The engine of a cluster compared with alternatives: the same appends on this machine.

servers    a server in a folder of its own, with its user, and its costs
jetstream  NATS JetStream, as a shard's replica appends to it
postgres   PostgreSQL, alone and with a synchronous standby
redis      Redis, with a stream that is synced at each command
rabbit     RabbitMQ, with a quorum queue
measuring  the measurements

Laws: an append counts when the engine has acknowledged it. Nothing is installed: an engine without
programs or client is reported as absent.
"""
