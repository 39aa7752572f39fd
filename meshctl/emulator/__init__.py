"""The embedded cloud: Cloud Run, Cloud Build, Storage and tokens, on loopback.

Comments that begin with "facts sN" name the observation that is imitated: section N of the fact
sheet on Cloud Run. What the sheet leaves open is a setting, see settings.py.
"""
