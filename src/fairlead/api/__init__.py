"""Layer 3: every verb of every client, as pure functions over a Reader.

`server.py` is the entry: request -> authorize -> verb. A verb plans a Transaction and says how to answer its
outcome (`plan.py`). Kinds are descriptors; nothing here compares kind names.
"""
