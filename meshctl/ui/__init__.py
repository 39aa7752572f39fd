"""How a value looks: as text for people, as JSON for programs."""
