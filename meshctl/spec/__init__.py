"""Turns YAML text into a frozen Fleet, or says exactly where it is wrong. Pure."""
