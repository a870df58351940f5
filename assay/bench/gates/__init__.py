"""Gates that ship with Assay, as TOML; `assay.bench.gates.rules.source` reads them by name."""
