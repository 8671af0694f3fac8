"""The body of a response: read in time, decoded within bounds."""
