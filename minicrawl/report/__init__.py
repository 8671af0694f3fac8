"""What the commands ask a store: ranks, counts, reasons; read only."""
