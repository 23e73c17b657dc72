"""What people lay down for the plane: its knobs, what evidence may decide, the SchedulingPolicy in use."""
