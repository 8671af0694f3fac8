"""Link graphs as text: one module for each format, and the detection of formats."""
