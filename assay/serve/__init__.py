"""How do other programs reach us? The memory service for agents, over the Model Context Protocol."""
