"""Cloud Run Admin API v2: what it stores, checks, shows and reconciles."""
