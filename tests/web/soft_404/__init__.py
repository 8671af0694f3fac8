"""Cases that measure the detection of soft 404s: generated sites, and recorded pages."""
