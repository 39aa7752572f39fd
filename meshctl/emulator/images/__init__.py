"""The image registry: OCI blobs by digest, tags by repository, unpacked roots."""
