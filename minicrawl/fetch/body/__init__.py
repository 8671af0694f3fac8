"""Response bodies: read before a deadline and decoded within limits.

decoding  decoders of Content-Encoding, whose time and memory grow with the bytes received
content   content of a body, in memory or in a temporary file
reading   reads and decodes a body, within limits of size, time and memory
"""
