"""Towers in closed form against halving."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from reference import cooling as reference
from twin_gym.kernels import tower

WEATHER = st.floats(-10, 26)
DROPS = st.floats(1.5, 20)
WATER = st.floats(0.3, 1.25)


@settings(max_examples=300)
@given(wet_bulb=WEATHER, drop=DROPS, ratio=st.floats(0.3, 8))
def test_the_correlation_is_the_sum_of_its_terms(wet_bulb, drop, ratio):
    assert tower.approach(wet_bulb, drop, ratio) == pytest.approx(
        reference.approach(wet_bulb, drop, ratio), rel=1e-12, abs=1e-9
    )


@settings(max_examples=300)
@given(wet_bulb=WEATHER, above=st.floats(4, 30), water=WATER, air=st.floats(0.1, 1))
def test_what_leaves_a_cell(wet_bulb, above, water, air):
    inlet = wet_bulb + above
    expected = reference.leaving(inlet, wet_bulb, water, air)
    assume(wet_bulb + 0.01 < expected < inlet - 0.01)
    assert tower.leaving(inlet, wet_bulb, water, air) == pytest.approx(expected, abs=1e-6)


@settings(max_examples=200)
@given(wet_bulb=st.floats(0, 25), above=st.floats(8, 25), water=st.floats(0.3, 0.8), air=st.floats(0.2, 1))
def test_the_air_that_a_temperature_needs(wet_bulb, above, water, air):
    inlet = wet_bulb + above
    target = reference.leaving(inlet, wet_bulb, water, air)
    assume(wet_bulb + 1.0 < target < inlet - 1.0)
    assume(water / air < 4)
    assert tower.air_for(inlet, target, wet_bulb, water) == pytest.approx(air, rel=1e-4)
