"""Logging `entries.list`, over what the instances really wrote."""
