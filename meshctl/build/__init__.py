"""Turns a context into an image digest."""
