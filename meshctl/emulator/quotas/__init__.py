"""Cloud Quotas v1, and the two gates at which Cloud Run holds a deployment to its quotas."""
