"""What befalls processes, nodes and the disk in a run: drawn by chance, or scripted."""
