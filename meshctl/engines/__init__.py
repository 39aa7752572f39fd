"""What is known of engine families, as data. Pure.

Adding a family: one file with one Engine, its line in `known.py`, its boot log in the tests.
"""
