"""What can die in a run: the server, planes, agents, and the machines under them, each driven in virtual time."""
