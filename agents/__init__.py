"""Who decides: baselines, training and evaluation of learned policies.

>>> from twin_gym.agents import find_agent
>>> agent = find_agent("sjf+easy")
"""

from .agent import Agent
from .heuristics import First, Heuristic, Learned, RandomAgent, find_agent

__all__ = ["Agent", "First", "Heuristic", "Learned", "RandomAgent", "find_agent"]
