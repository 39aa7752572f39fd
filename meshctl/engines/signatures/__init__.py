"""How things are known to fail, as data: one file for each of those who say so. Pure.

Adding a failure: one Signature in the file of whoever writes the line, before any wider one; its
line in `tests/cases/findings/lines.yaml`; then `make reference`.
"""
