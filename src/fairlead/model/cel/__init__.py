"""The Common Expression Language as Kubernetes has it: texts to trees, trees to functions, and what these may cost."""
