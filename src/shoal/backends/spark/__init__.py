"""Spark sessions and clusters."""
