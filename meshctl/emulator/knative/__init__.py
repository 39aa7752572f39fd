"""Cloud Run's v1 API, as gcloud speaks it: Knative's documents over the same services."""
