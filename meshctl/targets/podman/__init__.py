"""Machines with systemd and podman: what they are read by, and what they are told."""
