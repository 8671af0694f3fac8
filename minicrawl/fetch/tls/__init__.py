"""TLS: trusted certificates, client certificates, and TLS over a connection.

contexts  which certificates are trusted and shown
layer     encrypts and decrypts one connection, and resumes sessions
"""
