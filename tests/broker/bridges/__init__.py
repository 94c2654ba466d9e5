"""Links of bridges, between this broker and providers that are really there."""
