"""Tests of the provider that speaks STOMP."""
