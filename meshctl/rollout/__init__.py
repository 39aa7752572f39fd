"""Gathers the facts, performs a plan, writes the journal, and undoes what did not prove itself."""
