"""Monitoring `timeSeries.list`, over what the fronts and pools really did."""
