"""Pages as files for other programs."""
