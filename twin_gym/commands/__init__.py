"""The commands of `twin-gym`, one module each, and what they share; `twin_gym.cli` finds them."""
