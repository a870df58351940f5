"""`python -m assay.cli` is `assay`."""

from assay.cli.main import main

main()
