"""The body of a response: read in time and decoded within limits."""
