"""Measures a running release, and says when a measurement is worth nothing."""
