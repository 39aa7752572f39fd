"""typer commands: parse, call one function, show, exit."""
