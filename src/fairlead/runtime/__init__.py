"""Layer 9: the home of the wall clock, sockets, processes, threads and settings. Joins everything else."""
