"""Commands that read a store, and show or export its content."""
