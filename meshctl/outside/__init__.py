"""The only code that runs processes, opens connections, or reads the clock and the environment."""
