"""Cloud Build v1: fetch a source, run its steps, record what came of them."""
