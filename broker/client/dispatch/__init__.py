"""Handlers, the dispatcher that runs them, and JMS ConnectionConsumers."""
