"""A plug-in that does as it is told, well or badly."""
import json
import os
import sys
import time

state = {"tasks": 0, "config": None}


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def act(task, what, n):
    if what == "spin":
        def stuck_here():
            while True:
                pass
        stuck_here()
    elif what == "sleep":
        time.sleep(n)
    elif what == "die":
        print("the last words", file=sys.stderr, flush=True)
        os._exit(n)
    elif what == "segv":
        os.kill(os.getpid(), 11)
    elif what == "print":
        print("I only wanted to say hello", flush=True)
        time.sleep(60)
    elif what == "long":
        sys.stdout.write("x" * (2 << 20) + "\n")
        sys.stdout.flush()
        time.sleep(60)
    elif what == "unasked":
        send({"id": 999, "result": 1})
        time.sleep(60)
    elif what == "error":
        raise ValueError("no table orders")
    elif what == "no":
        return {"success": False, "message": "the figures do not add up"}
    elif what == "text":
        return "done"
    elif what == "none":
        return None
    elif what == "list":
        return {"result": [1]}
    elif what == "big":
        return {"result": {"a": "x" * (70 << 10)}}
    elif what == "loud":
        for i in range(n):
            sys.stderr.write("e%07d " % i + "x" * 1014 + "\n")
    elif what == "logs":
        for i in range(n):
            send({"method": "log", "params": {"text": "o%07d " % i + "x" * 1000}})
    elif what == "child":
        if os.fork() == 0:
            os.setsid()
            os.close(1)
            os.close(2)
            time.sleep(600)
            os._exit(0)
        time.sleep(600)
    elif what == "steps":
        for i in range(0, 101, 25):
            send({"method": "progress", "params": {"percent": i, "text": "step\n%d" % i}})
            send({"method": "log", "params": {"text": "at %d" % i, "stream": "err"}})
    elif what == "ask":
        send({"id": "mine", "method": "please"})
        answer = json.loads(sys.stdin.readline())
        return {"result": {"code": answer["error"]["code"]}}
    return {"success": True, "result": {"pid": os.getpid(), "tasks": state["tasks"]}}


def run(task):
    state["tasks"] += 1
    if task["execType"] == "odd_echo":
        print("stderr belongs to " + task["attempt"], file=sys.stderr, flush=True)
        return {"success": True, "result": {"task": task, "env": os.environ.get("GREETING"), "config": state["config"], "cwd": os.getcwd()}}
    return act(task, task["exec"]["act"], task["exec"].get("n", 1))


def main():
    if os.path.exists("broken"):
        print(open("broken").read().strip(), file=sys.stderr, flush=True)
        sys.exit(4)
    for line in sys.stdin:
        call = json.loads(line)
        if "method" not in call:
            continue
        if call["method"] == "init":
            state["config"] = call["params"]
            send({"id": call["id"], "result": {}})
        elif call["method"] == "run":
            try:
                send({"id": call["id"], "result": run(call["params"])})
            except ValueError as fault:
                send({"id": call["id"], "error": {"code": 7, "message": str(fault)}})
        else:
            send({"id": call["id"], "error": {"code": -32601, "message": "no"}})


main()
