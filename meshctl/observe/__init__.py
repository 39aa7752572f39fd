"""Explains the present and the past: status, history, explain."""
