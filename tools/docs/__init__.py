"""Generates and checks the documentation: references, number blocks, pictures, tutorials."""
