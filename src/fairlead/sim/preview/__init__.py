"""What would happen: a world made of a live plane's objects, run with a change and without it, and the difference."""
