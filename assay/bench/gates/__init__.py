"""Gates: rule files (TOML, read by `rules.py`) and their verdicts on receipts (`verdicts.py`)."""
