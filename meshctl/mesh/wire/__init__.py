"""The short way to an engine on this machine: HTTP/1.1 and nothing else."""
