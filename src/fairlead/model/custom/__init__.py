"""Custom resources: from a CustomResourceDefinition to kinds that the API serves like any other."""
