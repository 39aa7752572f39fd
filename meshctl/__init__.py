"""meshctl operates a fleet of GPU endpoints for language models. Pure."""

__version__ = "0.1.0"
