"""Takes one backend in the place of another while the clients wait: the front of a host."""
