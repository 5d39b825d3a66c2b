"""Small foreign files by hand for the tests of loaders."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq


def utc(*texts: str | None) -> pa.Array:
    """Dates in UTC as Parquet files have them."""
    stamps = [None if text is None else pd.Timestamp(text, tz="UTC") for text in texts]
    return pa.array(stamps, pa.timestamp("us", tz="UTC"))


def parquet(path: Path, columns: Mapping[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(dict(columns)), path)
    return path


def csv(path: Path, columns: Mapping[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(dict(columns)).to_csv(path, index=False)
    return path
