"""What the commands share: options, tables, stores, progress."""
