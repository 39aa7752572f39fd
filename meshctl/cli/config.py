"""`meshctl config`: the fleet as it is understood, the schema, an example."""

from __future__ import annotations

import typer

from meshctl.cli.share import share_dir
from meshctl.cli.world import world_of
from meshctl.ui.convert import config_document
from meshctl.ui.documents import Example, Schema


def show(
    ctx: typer.Context,
    show_values: bool = typer.Option(False, "--show-values", help="Print env values as they are."),
) -> None:
    """Show the fleet with everything filled in.

    Defaults, `like` and variables are resolved. The table is a fleet file again, for the same
    folder; env values print as hashes unless --show-values.
    """
    world = world_of(ctx)
    world.output.show(config_document(world.fleet(), show_values=show_values))


def schema(ctx: typer.Context) -> None:
    """Print the JSON schema of a fleet file.

    Editors complete and check with it: `meshctl config schema > meshctl.schema.json`.
    """
    from meshctl.spec.reference import schema as schema_of_fleet

    world_of(ctx).output.show(Schema(schema_=schema_of_fleet()))


def example(ctx: typer.Context) -> None:
    """Print an example that documents every key."""
    text = (share_dir("configs") / "example.yaml").read_text(encoding="utf-8")
    world_of(ctx).output.show(Example(text=text))
