"""One file per verb. Each has one function that takes (desk, request, kind, context) and gives a Step."""
