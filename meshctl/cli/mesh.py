"""`meshctl mesh`: the mesh, in this process."""

from __future__ import annotations

from meshctl.outside.environment import environment


def serve() -> int:
    """Run the mesh in this process.

    It is configured by MESH_* variables alone, as in a container.
    """
    from meshctl.mesh.__main__ import main

    return main(["serve"], environment())
