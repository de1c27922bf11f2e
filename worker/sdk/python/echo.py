"""A whole executor: its one type, echo, returns its parameters as its result. `ax conform` knows it.

    AX_EXECUTOR=default/echo AX_EXECUTOR_SECRET=... python3 echo.py --port 9000
"""
import argparse
import logging
import os
import sys

from ax_executor import Executor

options = argparse.ArgumentParser()
options.add_argument("--host", default="127.0.0.1", help="where the center reaches this executor")
options.add_argument("--port", type=int, default=9000)
options.add_argument("--journal", default="echo.journal", help="a file that only this executor uses")
given = options.parse_args()
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
executor = Executor(os.environ["AX_EXECUTOR"], os.environ["AX_EXECUTOR_SECRET"], given.journal)


@executor.task("echo")
def echo(task):
    """Takes as many seconds as the parameter sleep says, telling how far it is, and ends at once when it should stop."""
    task.log("echo of %d parameters for %s" % (len(task.params), task.biz_date))
    for step in range(10):
        task.sleep(float(task.params.get("sleep") or 0) / 10)
        task.progress(10 * step + 10, "asleep")
    return task.params


sys.exit(0 if executor.serve(given.host, given.port) else 1)
