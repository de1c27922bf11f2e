"""The child of crash_test.go in Python: child.py FOLDER NAME SECRET."""
import os
import sys
import threading

import ax_executor

folder, name, secret = sys.argv[1:]


class Fast(ax_executor._Pace):
    beat, progress, logs, first, claim, report, linger = 0.1, 0.01, 0.003, 0.003, 0.05, 0.1, 0.3


def found(task):
    return {"found": "done"}


executor = ax_executor.Executor(name, secret, os.path.join(folder, "journal"), interrupted=found if os.environ.get("AX_SDK_TEST_HOOK") else None,
                                pace=Fast())


@executor.task("echo")
def echo(task):
    with open(os.path.join(folder, "starts"), "a") as starts:
        starts.write(task.attempt + "\n")
    task.sleep(float(task.params["span"]))
    return task.params


host, port = executor.start()
with open(os.path.join(folder, "new"), "w") as file:
    file.write("http://%s:%d" % (host, port))
os.rename(os.path.join(folder, "new"), os.path.join(folder, "url"))
threading.Event().wait()
