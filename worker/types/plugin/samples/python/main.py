"""A plug-in of AX: JSON-RPC 2.0, one object a line, over standard input and output. Errors are for the task's log."""
import csv
import json
import sys

import acme_table  # from wheels/


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def log(text):
    send({"method": "log", "params": {"text": text}})


def prepare(task):
    if "," not in task["exec"]["text"]:
        raise ValueError("text: a line of comma-separated names is wanted")


def run(task):
    settings = task["exec"]
    rows = list(csv.reader(settings["text"].splitlines()))
    repeat = int(settings["repeat"])
    for i in range(repeat):
        for line in acme_table.draw(rows, settings["style"] == "lined"):
            log(line)
        send({"method": "progress", "params": {"percent": 100 * (i + 1) // repeat, "text": f"table {i + 1} of {repeat}"}})
    return {"success": True, "result": {"rows": len(rows) - 1, "columns": rows[0]}}


METHODS = {"init": lambda config: {}, "prepare": prepare, "run": run}

for line in sys.stdin:
    call = json.loads(line)
    if "id" not in call or "method" not in call:
        continue
    if call["method"] not in METHODS:
        send({"id": call["id"], "error": {"code": -32601, "message": "there is no method " + call["method"]}})
        continue
    try:
        send({"id": call["id"], "result": METHODS[call["method"]](call.get("params"))})
    except Exception as fault:
        send({"id": call["id"], "error": {"code": 1, "message": f"{type(fault).__name__}: {fault}"}})
