"""Layer 6: runs and incidents as files that can be played again: the artifact, and the page that shows one."""
