"""`sightline chat`: a conversation in the terminal. Thin: it asks the agent and shows what comes."""
