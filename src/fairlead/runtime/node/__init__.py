"""The process of a node (`process.py`): its agent driven, its directory, its endpoint, its proxy of Services."""
