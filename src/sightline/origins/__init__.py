"""The five source documents under their own names: one thin module each, everything behind them done by the core."""
