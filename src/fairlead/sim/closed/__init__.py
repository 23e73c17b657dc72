"""A captured incident played again from the tape of its plane: the same deliveries, answers and faults, in order."""
