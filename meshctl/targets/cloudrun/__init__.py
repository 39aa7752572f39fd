"""Cloud Run, real or embedded: requests are built purely, and performed with preconditions."""
