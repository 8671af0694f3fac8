"""Reports on a store: ranks, counts, reasons. They only read."""
