"""The command line: `assay add`, `search`, `explain` and the rest. The only folder that prints.

    main       the table of commands          options    options that commands share
    failures   errors to exit codes           terminal   text that is safe to print
    commands/, bench/, memory/                one module for each command or small group
    views/                                    how results look

Commands import what they need when they run, so `assay --help` is fast.
"""
