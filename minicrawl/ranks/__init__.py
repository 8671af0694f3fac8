"""Link analysis: what the links of a whole graph say of its nodes. Pure."""
