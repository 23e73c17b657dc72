"""The OpenAPI documents, of versions 2 and 3, made from kinds and field tables."""
