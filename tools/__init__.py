"""Scripts for maintainers: the cascade's grid, layout measurements, generated documentation."""
