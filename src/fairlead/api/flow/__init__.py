"""Whose turn it is: FlowSchemas and priority levels in force, and the machine that decides who is served next."""
