"""What is written of a `Facility` into the directory of its run.

==========================  ====================================================================================
``power_history.parquet``   total, IT and pump power at every instant at which it changes, W
``loss_history.parquet``    losses of rectifiers and of nodes' converters, at the same instants, W
``facility.parquet``        `Facility.table`: power, PUE, weather, price, carbon intensity, by bins of time
``cooling_model.parquet``   what the cooling plant did in each bin, each CDU among it; only if there is a plant
``figures/power.png`` ...   pictures
==========================  ====================================================================================
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from twin_gym.facility import Facility

_UNITS = {
    "time": "s since the epoch",
    "pue": "1",
    "utilization": "1",
    "flops": "flop/s",
    "wet_bulb": "degC",
    "dry_bulb": "degC",
    "supply": "degC",
    "tower_return": "degC",
    "water": "kg/s",
    "carbon": "g/kWh",
}


def write(facility: Facility, folder: Path, *, figures: bool) -> None:
    """Write tables, and pictures if they are wanted."""
    power = facility.power
    columns = {
        "time": power.time,
        "total": power.total,
        "it": power.it,
        "pumps": np.full(len(power.time), power.model.pumps),
    }
    _table(columns, folder / "power_history.parquet", {})
    losses = {"time": power.time, "rectifiers": power.rectifier_loss, "converters": power.converter_loss}
    _table(losses, folder / "loss_history.parquet", {})
    table = facility.table
    price = {"price": f"{facility.surroundings.currency}/kWh"}
    _table({name: table[name].to_numpy() for name in table}, folder / "facility.parquet", price)
    if facility.plant is not None:
        frame = facility.plant.frame()
        frame.insert(0, "time", table["time"].to_numpy())
        frame.to_parquet(folder / "cooling_model.parquet", compression="zstd")
    if figures:
        from twin_gym import facility_plots

        (folder / "figures").mkdir(exist_ok=True)
        facility_plots.power(facility).savefig(folder / "figures" / "power.png")
        if facility.plant is not None:
            facility_plots.facility(facility).savefig(folder / "figures" / "facility.png")


def _table(columns: dict[str, np.ndarray], path: Path, units: dict[str, str]) -> None:
    """Write columns with their units; what is not named is in watts."""
    units = {**_UNITS, **units}
    fields = [
        pa.field(name, pa.from_numpy_dtype(values.dtype), metadata={"unit": units.get(name, "W")})
        for name, values in columns.items()
    ]
    pq.write_table(pa.table(list(columns.values()), schema=pa.schema(fields)), path, compression="zstd")
