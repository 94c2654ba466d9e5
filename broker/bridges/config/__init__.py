"""Configuration of bridges: what is wrong with it, changing it, and its documents."""
