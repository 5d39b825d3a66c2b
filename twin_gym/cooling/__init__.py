"""Cooling plants: the native one, behind a small interface that another model could take over."""

from __future__ import annotations

from twin_gym.cooling.plant import Controls, Plant, PlantHistory, PlantSnapshot

__all__ = ["Controls", "Plant", "PlantHistory", "PlantSnapshot"]
