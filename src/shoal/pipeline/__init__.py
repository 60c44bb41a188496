"""The flow from a table and a plan to what is published, one module per step."""
