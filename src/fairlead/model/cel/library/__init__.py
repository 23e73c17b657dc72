"""The functions of expressions, one file for each of Kubernetes' libraries."""
