"""Tables of requests and what must come of them, written from Kubernetes' documentation alone."""
