"""What a server is started with, and where its data directory keeps what. The command line makes it,
`runtime/server.py` obeys it; backup and restore use the same names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

DATABASE_FILE = "fairlead.db"


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """`banner`: tell on the terminal where the kubeconfig is and what to type next."""

    data_dir: Path
    listen: str
    port: int
    banner: bool

    @property
    def database(self) -> Path:
        return self.data_dir / DATABASE_FILE
