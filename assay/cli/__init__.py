"""The command line: `assay add`, `search`, `explain` and the rest. The only folder that prints.

    main       the table of commands        failures   errors to words and exit codes
    options    what commands share          terminal   what may be shown in a terminal
    answer_view, explain_view, …            how a result looks
    reference  writes docs/reference/

Commands import what they need when they run, so `assay --help` is instant.
"""
