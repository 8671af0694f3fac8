"""Cases that measure how well soft 404s are told: made sites, and recorded pages."""
