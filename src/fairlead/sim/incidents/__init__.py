"""What befalls processes, nodes and the disk in a run: drawn from the tape, or scripted."""
