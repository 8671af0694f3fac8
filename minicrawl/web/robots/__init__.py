"""robots.txt: what it says, and which rule decides about a path."""
