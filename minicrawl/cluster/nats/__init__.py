"""The engine over NATS JetStream: streams for logs and batches, buckets for keys and objects.

jetstream   requests, repeated until they are answered; names and creation of a crawl's streams
connecting  credentials, encryption and the connection; the engine made of all parts
storage     logs, keys, objects, batches, broadcasts

Laws: nothing here knows the meaning of entries, values and objects. A message is never larger than
servers accept by default. Passwords are in no message, log or store.
"""
