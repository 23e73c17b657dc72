"""Whether the disk of a node's directory has room for pods. Pure; `machine.py` asks it with each Disk that is measured.

Too little is less than the smaller of a fixed amount and a share, so that a small disk is not always full; it is over
when there is twice as much, so that a pod's log does not turn it on and off.
"""

from __future__ import annotations

from fairlead.agent.contract import Disk

LOW_BYTES = 64 * 1024 * 1024
LOW_FILES = 1000
LOW_SHARE = 0.05
_MIB = 1024 * 1024


def describe_pressure(disk: Disk, before: str) -> str:
    """What is wrong, in words that stay the same while it lasts; "" if nothing is."""
    factor = 2 if before else 1
    if disk.free_bytes < factor * min(LOW_BYTES, disk.bytes * LOW_SHARE):
        told = f"{disk.free_bytes // _MIB} MiB of {disk.bytes // _MIB} MiB are free"
    elif disk.files and disk.free_files < factor * min(LOW_FILES, disk.files * LOW_SHARE):
        told = f"{disk.free_files} of {disk.files} inodes are free"
    else:
        return ""
    return before or f"{told} where {disk.where} is: free space on that disk"
