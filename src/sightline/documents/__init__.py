"""What only the five source documents ask of an agent: a store of code, and calls written as JSON."""
