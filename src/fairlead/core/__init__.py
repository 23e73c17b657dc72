"""Layer 0: what everything stands on. Quantities, times, ids, the JSON codec, the error tree.

Nothing here knows a kind, a store or a socket, and nothing here reads a clock or draws chance.
"""
