"""Fetches, verifies, publishes and retires model files, and reads their headers."""
