"""What commands have in common: options, tables, stores, progress."""
