"""The twin as Gymnasium environments: spaces, masks, rewards and registration."""
