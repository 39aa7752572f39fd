"""Fakes written by hand at the narrow doors."""
