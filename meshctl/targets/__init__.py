"""Observe a target and perform one step on it."""
