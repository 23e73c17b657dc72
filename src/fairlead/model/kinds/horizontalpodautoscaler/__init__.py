"""The kind HorizontalPodAutoscaler (`kind.py`), its older version, and the way from one to the other."""
