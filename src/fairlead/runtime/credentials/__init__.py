"""Who is who, on disk: certificates and their renewal, tokens, kubeconfigs, the identity of a data directory."""
