"""Brings payloads when a model is asked for, and keeps as many as there is room for."""
