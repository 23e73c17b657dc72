"""HorizontalPodAutoscalers: what is measured, how many replicas follow from it, and what holds a change back."""
