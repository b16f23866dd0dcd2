"""What is known about providers and their models: context windows, prices, and what their errors say."""
