"""Serving: processes, probes, pools of instances and the fronts before them."""
