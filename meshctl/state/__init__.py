"""What we remember between runs: the journal, its evidence and verdicts, builds, and locks."""
