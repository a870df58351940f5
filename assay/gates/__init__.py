"""Gates that ship with Assay, as TOML; `assay.bench.rules.source` reads them by name."""
