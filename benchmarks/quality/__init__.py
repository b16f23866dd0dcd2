"""What a composer lets the model see, measured on recorded conversations and agent runs. No model, no network."""
