"""The kind Job (`kind.py`): its rules, its policies, and what its status may claim."""
