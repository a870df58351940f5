"""A process that has imported everything and forks a fresh child for each job, so a kill test pays the import once.

Talks in lines: a job as JSON comes in; the child's process id goes out, and its exit status when it has ended.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
import warnings
from pathlib import Path


def main() -> None:
    sys.path.insert(0, str(Path(__file__).parent))
    import jobs

    import assay.kb  # noqa: F401

    warnings.simplefilter("error")
    for line in sys.stdin:
        call, arguments = json.loads(line)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                getattr(jobs, call)(**arguments)
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        _say(child)
        _say(os.waitpid(child, 0)[1])


def _say(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
