"""Speed and scale, measured on histories we generate."""
