"""Layer 2: what deciding is. The Decider contract, verdicts, effects and their retry policies, records.

Read `contract.py` first. Nothing here acts: `control/` carries effects out.
"""
