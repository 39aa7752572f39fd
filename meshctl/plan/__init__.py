"""(Fleet, facts, Observed, now) -> Plan. Pure."""
