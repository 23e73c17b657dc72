"""Addresses of pods: each gets one of the node's podCIDR for as long as anything of it is on the machine.

Pure bookkeeping, asked by `worker.py` before a sandbox is opened. Sandboxes found on the machine keep the addresses
that they have, whatever the range says now. A released address is given out again as late as possible.
"""

from __future__ import annotations

from ipaddress import ip_address, ip_network


class Addresses:
    def __init__(self) -> None:
        self._range = ""
        self._first = self._count = 0
        self._next = 0
        self._held: dict[str, str] = {}  # uid -> address
        self._taken: dict[str, str] = {}  # address -> uid

    @property
    def known(self) -> bool:
        """The node has a range."""
        return self._count > 0

    def use(self, cidr: str) -> None:
        """The range to give from. One that cannot be read is as good as none."""
        if cidr == self._range:
            return
        self._range, self._count, self._next = cidr, 0, 0
        try:
            network = ip_network(cidr, strict=False)
        except ValueError:
            return
        if network.version == 4 and network.prefixlen <= 30:
            self._first = int(network.network_address) + 1  # the first and the last are the network's own
            self._count = network.num_addresses - 2

    def of(self, uid: str) -> str:
        return self._held.get(uid, "")

    def hold(self, uid: str, address: str) -> None:
        """This pod has this address already."""
        if address and uid not in self._held:
            self._held[uid] = address
            self._taken.setdefault(address, uid)

    def take(self, uid: str, wanted: str = "") -> str:
        """Its address: the one it has, the one it had (`wanted`) if that is free, or a free one. "": none is free."""
        held = self._held.get(uid)
        if held is not None:
            return held
        if self._in_range(wanted) and wanted not in self._taken:
            self.hold(uid, wanted)
            return wanted
        for step in range(min(self._count, len(self._taken) + 1)):
            place = (self._next + step) % self._count
            address = str(ip_address(self._first + place))
            if address not in self._taken:
                self._next = (place + 1) % self._count
                self.hold(uid, address)
                return address
        return ""

    def release(self, uid: str) -> None:
        address = self._held.pop(uid, None)
        if address is not None and self._taken.get(address) == uid:
            del self._taken[address]

    def _in_range(self, address: str) -> bool:
        try:
            return bool(address) and self._first <= int(ip_address(address)) < self._first + self._count
        except ValueError:
            return False
