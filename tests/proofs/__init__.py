"""Long proofs: crawls that are killed, starved, attacked, soaked and fuzzed."""
