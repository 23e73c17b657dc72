"""Who can change the inputs of a controller's decisions without calling it: declared, observed, and drawn."""
