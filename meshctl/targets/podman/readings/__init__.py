"""What a host says of itself for gates and plans: each value known, or unknown with its reason."""
