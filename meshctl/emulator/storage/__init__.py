"""The Storage JSON API on a folder: buckets, objects, preconditions, resumable uploads."""
