"""A Python service as an external executor of AX: one file, the standard library, Python 3.9 and newer.

    from ax_executor import Executor

    executor = Executor("default/billing", os.environ["AX_EXECUTOR_SECRET"], journal="billing.journal")

    @executor.task("bill")
    def bill(task):
        task.log("billing for " + task.biz_date)
        return {"rows": 12}

    executor.serve("0.0.0.0", 9000)

The file keeps docs/protocol.md: it verifies what comes, acknowledges, claims, beats, ships progress and log lines, writes
every step to a journal on disk before it acts on it, reports until the center has the outcome, and drains on SIGTERM.
A task that was not granted is not run; one that was granted is run once by this process, and never again after a crash;
its outcome reaches the center also over a cut network and a restart. A retry is another attempt with the same
task.trace_id: docs/executor-guide.md begins with how to make that harmless.

Tasks run in threads of their own. A thread can't be ended from outside: a task that takes long asks task.check(), or
waits with task.sleep(), both of which raise Stopped when it should end.
"""
from __future__ import annotations

import errno
import hashlib
import hmac
import http.client
import http.server
import json
import logging
import os
import random
import secrets as randomness
import signal
import threading
import time
import traceback
import zlib
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union
from urllib.parse import urlsplit

try:
    import fcntl
except ImportError:  # no lock on this system
    fcntl = None  # type: ignore[assignment]

__all__ = ["Executor", "Stopped", "Task", "sign"]

Handler = Callable[["Task"], Optional[Mapping[str, Any]]]

MAX_AGE_MS = 300_000  # of a signed request
CLAIM_HOLDS = 3.0  # seconds from the sending of a claim to the start
MAX_BODY = 1 << 20
MAX_MESSAGE, MAX_RESULT, MAX_TEXT = 4 << 10, 64 << 10, 200
MAX_LINES, MAX_LINE, MAX_BATCH, MAX_UNSENT = 1000, 32 << 10, 200 << 10, 4 << 20
NONCE_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
ACCEPTED, STARTED, ENDED, SETTLED = "accepted", "started", "ended", "settled"


class Stopped(Exception):
    """The task should end: its deadline has come, the center cancelled it, or this process stops."""


def sign(secret: bytes, method: str, target: str, at_ms: str, nonce: str, body: bytes) -> str:
    """The value of X-Ax-Signature. target is path?query as in the request line."""
    text = "\n".join(["v1", method, target, at_ms, nonce, hashlib.sha256(body).hexdigest()])
    return "v1=" + hmac.new(secret, text.encode(), hashlib.sha256).hexdigest()


def _now_ms() -> int:
    return int(time.time() * 1000)


def _boot() -> float:
    """Seconds that nobody can set, and that go on while the machine sleeps where that can be had."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


def _dump(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _clean(text: str, most: int) -> str:
    """text without what can't be sent, cut between characters to so many bytes."""
    text = text.replace("\0", "\u2400").encode("utf-8", "replace").decode()
    raw = text.encode()
    return text if len(raw) <= most else raw[: most - 3].decode("utf-8", "ignore") + "…"


class _Pace:
    """Seconds. Tests go faster."""

    beat = 10.0
    progress = 1.0
    logs = 0.3
    first = 0.3
    claim = 5.0
    report = 30.0
    linger = 30.0
    late_lines = 2.0
    give_up = 7 * 24 * 3600.0
    forget = 3600.0
    call = 10.0


class _Refused(Exception):
    """An answer of the center of 300 and above."""

    def __init__(self, status: int, text: str, after: float) -> None:
        super().__init__("the center answered %d: %s" % (status, text))
        self.status, self.text, self.after = status, text, after


class _Backoff:
    def __init__(self, least: float, most: float) -> None:
        self.least, self.most, self.last = least, most, 0.0

    def next(self, asked: float = 0.0) -> float:
        self.last = min(max(2 * self.last, self.least), self.most)
        return max(self.last * random.uniform(0.75, 1), asked)


class _Journal:
    """An append-only file: a line is the CRC-32 of a JSON record, a blank, the record; the last one of an attempt counts.

    A change is on disk when its method returns. After a failed write the next change writes the whole file anew.
    """

    COMPACT = 1 << 20

    def __init__(self, path: str, forget: float, log: logging.Logger) -> None:
        self.path, self.forget, self.log = path, forget, log
        self.mutex = threading.Lock()
        self.entries: Dict[str, Dict[str, Any]] = {}
        self.file: Optional[Any] = None
        self.size = self.base = 0
        self.broken = False
        self.lock = open(path + ".lock", "a")
        if fcntl is not None:
            try:
                fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as fault:
                self.lock.close()
                raise RuntimeError("another process uses the journal %s: give each executor one of its own" % path) from fault
        self._read()
        self._rewrite()

    @staticmethod
    def _line(record: Mapping[str, Any]) -> bytes:
        body = _dump(record)
        return b"%08x %s\n" % (zlib.crc32(body), body)

    def _read(self) -> None:
        try:
            with open(self.path, "rb") as file:
                text = file.read()
        except FileNotFoundError:
            return
        lines = text.split(b"\n")
        tail, damaged = lines.pop(), False
        if tail:
            self.log.warning("executor journal %s: the last line was not written whole and is dropped", self.path)
        for number, line in enumerate(lines, 1):
            total, _, body = line.partition(b" ")
            record: Any = None
            if total == b"%08x" % zlib.crc32(body):
                try:
                    record = json.loads(body)
                except ValueError:
                    pass
            if isinstance(record, dict) and record.get("key") and record.get("state") in (ACCEPTED, STARTED, ENDED, SETTLED):
                self.entries[record["key"]] = record
            else:
                damaged = True
                self.log.warning("executor journal %s: line %d is damaged and was left out", self.path, number)
        if damaged:
            aside = "%s.damaged-%d" % (self.path, _now_ms())
            os.rename(self.path, aside)
            self.log.warning("executor journal: the damaged file is kept as %s", aside)

    def _rewrite(self) -> None:
        old = _now_ms() - self.forget * 1000
        self.entries = {k: r for k, r in self.entries.items() if r["state"] != SETTLED or r["at"] >= old}
        text = b"".join(map(self._line, self.entries.values()))
        fresh = os.open(self.path + ".new", os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_APPEND, 0o600)
        file = os.fdopen(fresh, "wb", buffering=0)
        try:
            self._write_all(file, text)
            os.fsync(file.fileno())
            os.replace(self.path + ".new", self.path)
        except OSError:
            file.close()
            raise
        try:
            folder = os.open(os.path.dirname(os.path.abspath(self.path)), os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError:
            pass  # not every system can; the file itself is synced
        if self.file is not None:
            self.file.close()
        self.file, self.size, self.base, self.broken = file, len(text), len(text), False

    @staticmethod
    def _write_all(file: Any, data: bytes) -> None:
        while data:
            data = data[file.write(data):]

    def put(self, record: Dict[str, Any], known: bool = False) -> None:
        """Appends. known: it holds also if it can't be written."""
        with self.mutex:
            if self.file is None:
                raise OSError(errno.EBADF, "the journal is closed")
            if known:
                self.entries[record["key"]] = record
            if self.broken:
                self._rewrite()
            line = self._line(record)
            try:
                self._write_all(self.file, line)
                os.fsync(self.file.fileno())
            except (OSError, ValueError) as fault:
                self.broken = True
                try:
                    os.truncate(self.path, self.size)
                except OSError:
                    pass
                raise OSError(str(fault)) from fault
            self.size += len(line)
            self.entries[record["key"]] = record
            if self.size > max(self.COMPACT, 2 * self.base):
                try:
                    self._rewrite()
                except OSError:
                    self.broken = True  # the file as it was has the record; the next change tries again

    def knows(self, key: str) -> bool:
        with self.mutex:
            return key in self.entries

    def open_ones(self) -> List[Dict[str, Any]]:
        with self.mutex:
            return sorted((r for r in self.entries.values() if r["state"] != SETTLED), key=lambda r: (r["at"], r["key"]))

    def close(self) -> None:
        with self.mutex:
            if self.file is not None:
                self.file.close()
                self.file = None
                self.lock.close()


class _Lines:
    """What a task said and the center has not stored yet."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.first, self.size, self.dropped = 1, 0, 0
        self.unsent: List[Dict[str, Any]] = []

    def add(self, text: str, stream: str) -> None:
        at = _now_ms()
        with self.changed:
            for line in text.rstrip("\n").split("\n"):
                raw = _clean(line, 4 * len(line) + 8).encode()
                while len(raw) > MAX_LINE:
                    head = raw[:MAX_LINE].decode("utf-8", "ignore")
                    self._keep(at, stream, head)
                    raw = raw[len(head.encode()):]
                self._keep(at, stream, raw.decode())
            self.changed.notify_all()

    def _keep(self, at: int, stream: str, text: str) -> None:
        if self.size > MAX_UNSENT:
            self.dropped += 1
            return
        if self.dropped:
            note, self.dropped = "%d lines were not kept: the center took none for a while" % self.dropped, 0
            self._keep(at, "err", note)
        self.unsent.append({"at": at, "stream": stream, "text": text})
        self.size += len(text) + 64

    def batch(self) -> Tuple[int, List[Dict[str, Any]]]:
        with self.changed:
            size, chosen = 0, []
            for line in self.unsent[:MAX_LINES]:
                size += len(_dump(line)) + 1
                if chosen and size > MAX_BATCH:
                    break
                chosen.append(line)
            return self.first, chosen

    def stored(self, up_to: int) -> None:
        with self.changed:
            done = min(max(up_to - self.first + 1, 0), len(self.unsent))
            self.size -= sum(len(line["text"]) + 64 for line in self.unsent[:done])
            del self.unsent[:done]
            self.first = up_to + 1
            self.changed.notify_all()

    def wait_empty(self, most: float) -> None:
        with self.changed:
            self.changed.wait_for(lambda: not self.unsent, most)


class Task:
    """One attempt that was granted to this process."""

    def __init__(self, attempt: "_Attempt") -> None:
        body = attempt.task
        self.trace_id: str = body["traceId"]  #: the run; what must be done once is keyed by it
        self.attempt: str = body["attempt"]
        self.id: str = body.get("taskId", "")
        self.name: str = body.get("taskName", "")
        self.project: str = body.get("project", "")
        self.biz_date: str = body.get("bizDate", "")
        self.type: str = body.get("execType", "")
        self.params: Dict[str, str] = body.get("params") or {}
        self.exec: Dict[str, Any] = body.get("exec") or {}  #: the job's settings of the type
        self.expected: float = body.get("expectedTime", 0) / 1000  #: when it was due, seconds since 1970
        shard = body.get("shard") or {}
        self.shard: int = shard.get("index", 0)  #: part shard of shards, from 0
        self.shards: int = max(shard.get("total", 1), 1)
        self._attempt = attempt

    def progress(self, percent: float, text: str = "") -> None:
        """Tells how far it is, from 0 to 100. It may be called often: what is new goes out once a second."""
        self._attempt.tell(int(min(max(percent, 0), 100)), text)

    def log(self, text: str, stream: str = "out") -> None:
        """Adds to the task's log; stream is "out" or "err"."""
        self._attempt.lines.add(str(text), stream)

    @property
    def stopped(self) -> bool:
        """Whether it should end."""
        return self._attempt.stopped() != ""

    def check(self) -> None:
        """Raises Stopped when it should end."""
        why = self._attempt.stopped()
        if why:
            raise Stopped(why)

    def sleep(self, seconds: float) -> None:
        """Waits, and raises Stopped as soon as it should end."""
        end = _boot() + seconds
        while True:
            self.check()
            left = end - _boot()
            if left <= 0:
                return
            until_deadline = self.remaining()
            self._attempt.stop.wait(left if until_deadline is None else min(left, max(until_deadline, 0.001)))

    def remaining(self) -> Optional[float]:
        """Seconds until its deadline; None without one."""
        end = self._attempt.deadline()
        return None if end is None else end - time.time()


class _Attempt:
    def __init__(self, record: Dict[str, Any]) -> None:
        self.key: str = record["key"]
        self.task: Dict[str, Any] = record["task"]
        self.ahead: int = record.get("ahead", 0)
        self.state: str = record["state"]
        self.outcome: Optional[Dict[str, Any]] = record.get("outcome")
        self.ended_at: int = record["at"]
        self.slot = False
        self.lines = _Lines()
        self.stop = threading.Event()
        self.reason = ""
        self.over = threading.Event()  # settled
        self.ended = threading.Event()
        self.news = threading.Event()
        self.mutex = threading.Lock()
        self.percent: Optional[int] = None
        self.text = ""

    def cancel(self, reason: str) -> None:
        with self.mutex:
            self.reason = self.reason or reason
        self.stop.set()

    def deadline(self) -> Optional[float]:
        """That of the center, on this machine's clock, seconds since 1970."""
        ms = self.task.get("deadline")
        return (ms - self.ahead) / 1000 if ms else None

    def stopped(self) -> str:
        if self.stop.is_set():
            return self.reason
        end = self.deadline()
        return "stopped at its deadline" if end is not None and time.time() >= end else ""

    def tell(self, percent: int, text: str) -> None:
        with self.mutex:
            self.percent, self.text = percent, text
        self.news.set()

    def record(self, state: str) -> Dict[str, Any]:
        r = {"state": state, "key": self.key, "at": _now_ms(), "ahead": self.ahead, "task": self.task}
        if state == ENDED:
            r["outcome"] = self.outcome
        return r


class Executor:
    """An executor of the name project/name. secret is that of AX's directory, or several: the first signs, each verifies.

    journal is a file of this executor alone. concurrency is how many tasks run at a time; beyond it the center is told
    "busy". interrupted settles a task that was running when the process died: it gets the task, finds out in the
    business' own data what became of it, and what it returns or raises is reported; without it "the executor was restarted" is.
    """

    def __init__(self, name: str, secret: Union[str, Sequence[str]], journal: str, *, concurrency: int = 16,
                 interrupted: Optional[Handler] = None, logger: Optional[logging.Logger] = None, pace: Optional[_Pace] = None) -> None:
        project, _, rest = name.partition("/")
        if not project or not rest:
            raise ValueError("name is %r; write project/name as `ax executors` shows it" % name)
        self.secrets = [s.encode() for s in ([secret] if isinstance(secret, str) else secret) if s]
        if not self.secrets:
            raise ValueError("secret is empty; it was shown when the executor was added, `ax executors rotate` makes a new one")
        if concurrency < 1:
            raise ValueError("concurrency is %d; it counts tasks" % concurrency)
        self.name, self.journal_path, self.concurrency, self.interrupted = name, journal, concurrency, interrupted
        self.log = logger or logging.getLogger("ax_executor")
        self.pace = pace or _Pace()
        self.handlers: Dict[str, Handler] = {}
        self.mutex = threading.Condition()
        self.attempts: Dict[str, _Attempt] = {}
        self.running = self.work = self.signing = 0
        self.draining = False
        self.ending = threading.Event()
        self.nonces: Dict[str, None] = {}
        self.older_nonces: Dict[str, None] = {}
        self.nonces_since = 0.0
        self.journal: Optional[_Journal] = None
        self.server: Optional[http.server.ThreadingHTTPServer] = None

    def task(self, kind: str) -> Callable[[Handler], Handler]:
        """Decorates the function that does the tasks of a type. What it returns is the result: None, or a dict of at most
        64 KB as JSON; what it raises makes the attempt failed. It returns after the business has committed, not before."""

        def register(handler: Handler) -> Handler:
            self.handlers[kind] = handler
            return handler

        return register

    # --- life

    def start(self, host: str = "127.0.0.1", port: int = 0) -> Tuple[str, int]:
        """Opens the journal, goes on with what it holds, and listens. Returns the address."""
        if not self.handlers:
            raise ValueError("there is no handler; give one for each type of task with @executor.task")
        self.journal = _Journal(self.journal_path, self.pace.forget, self.log)
        executor = self

        class Requests(_Requests):
            owner = executor

        self.server = _Server((host, port), Requests)
        for record in self.journal.open_ones():
            self._resume(record)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.log.info("executor %s listens on %s:%d", self.name, *self.server.server_address[:2])
        return str(self.server.server_address[0]), int(self.server.server_address[1])

    def serve(self, host: str = "0.0.0.0", port: int = 9000, drain: float = 30.0) -> bool:
        """Runs until SIGTERM or SIGINT; then takes no new tasks, waits so many seconds for those that run and for reports,
        and stops. What is not settled by then is settled by the next start. Call it from the main thread."""
        stop = threading.Event()
        for sig in (signal.SIGTERM, signal.SIGINT):
            signal.signal(sig, lambda *_: stop.set())
        self.start(host, port)
        while not stop.wait(1):
            pass
        done = self.drain(drain)
        self.close()
        return done

    def drain(self, timeout: Optional[float] = None) -> bool:
        """Takes no new tasks, and waits until everything taken has run and is reported; False after the time-out."""
        with self.mutex:
            self.draining = True
            return self.mutex.wait_for(lambda: self.work == 0, timeout)

    def close(self) -> None:
        """Stops: tasks that heed it within three seconds have their outcome in the journal, for the next start to report."""
        with self.mutex:
            self.draining = True
            left = list(self.attempts.values())
        self.ending.set()
        for attempt in left:
            attempt.cancel("the executor is being stopped")
        with self.mutex:
            self.mutex.wait_for(lambda: self.work == 0, 3)
        if self.server is not None:
            self.server.shutdown()
            self.server.server_close()
        if self.journal is not None:
            self.journal.close()

    def _full(self) -> str:
        if self.draining:
            return "this executor is being stopped and takes no new tasks"
        if self.running >= self.concurrency:
            return "this executor runs %d tasks and takes no more at a time" % self.running
        return ""

    def _spawn(self, work: Callable[[_Attempt], None], attempt: _Attempt) -> None:
        """Runs work in a thread that drain waits for."""

        def run() -> None:
            try:
                work(attempt)
            except Exception:  # a fault of this file must not go unheard
                self.log.exception("executor: attempt %s", attempt.key)
            finally:
                with self.mutex:
                    self.work -= 1
                    self.mutex.notify_all()

        with self.mutex:
            self.work += 1
        threading.Thread(target=run, daemon=True).start()

    def _resume(self, record: Dict[str, Any]) -> None:
        attempt = _Attempt(record)
        attempt.slot = attempt.state == ACCEPTED or attempt.state == STARTED and self.interrupted is not None
        with self.mutex:
            self.running += attempt.slot
            self.attempts[attempt.key] = attempt
        self._spawn(self._carry, attempt)

    # --- what the center sends

    def _verified(self, method: str, target: str, headers: Any, body: bytes) -> Optional[Dict[str, Any]]:
        """Why the request is refused, or None."""
        now = _now_ms()
        sent, nonce, given = headers.get("X-Ax-Time", ""), headers.get("X-Ax-Nonce", ""), headers.get("X-Ax-Signature", "")
        if headers.get("X-Ax-Executor", "") != self.name:
            return {"error": "this executor is %s, the request is for %r" % (self.name, headers.get("X-Ax-Executor", ""))}
        if not (sent.isascii() and sent.isdigit()):
            return {"error": "X-Ax-Time must hold UTC milliseconds, such as 1704045600000"}
        if not 16 <= len(nonce) <= 64 or not NONCE_LETTERS.issuperset(nonce):
            return {"error": "X-Ax-Nonce must hold 16 to 64 of the characters A-Z a-z 0-9 _ -, new for each request"}
        fits = [hmac.compare_digest(sign(s, method, target, sent, nonce, body).encode(), given.lower().encode("utf-8", "replace")) for s in self.secrets]
        if not any(fits):
            return {"error": "X-Ax-Signature does not fit: compare the secret, the method, the path with its query, and that "
                             "the body is signed byte for byte as sent"}
        if abs(now - int(sent)) > MAX_AGE_MS:
            return {"error": "X-Ax-Time is more than 300 s off this machine's clock: set the clocks, and sign a request again when "
                             "it is sent again", "time": now}
        with self.mutex:
            if abs(_boot() - self.nonces_since) > 2 * MAX_AGE_MS / 1000:
                self.older_nonces, self.nonces, self.nonces_since = self.nonces, {}, _boot()
            seen = nonce in self.nonces or nonce in self.older_nonces
            self.nonces[nonce] = None
        return {"error": "X-Ax-Nonce was seen before: sign anew when sending again"} if seen else None

    def _accept(self, headers: Any, body: bytes) -> Tuple[int, Dict[str, Any]]:
        """Takes a task: from the answer on it is claimed, also after a crash."""
        try:
            task = json.loads(body)
            trace, number, kind = task["traceId"], task["attempt"], task.get("execType", "")
        except (ValueError, TypeError, KeyError, AttributeError):
            return 400, {"error": "the body is no task: a JSON object with traceId and attempt", "field": "traceId"}
        if not all(isinstance(word, str) and word for word in (trace, number)) or not isinstance(kind, str):
            return 400, {"error": "traceId, attempt and execType are texts", "field": "traceId"}
        if kind not in self.handlers:
            return 404, {"error": "this executor has no type %r; it has %s" % (kind, ", ".join(sorted(self.handlers))), "field": "execType"}
        key = trace + "/" + number
        assert self.journal is not None
        with self.mutex:
            if key in self.attempts or self.journal.knows(key):
                return 409, {"error": "this executor has attempt %s already" % number}
            why = self._full()
            if why:
                return 503, {"error": why}
            now = _now_ms()
            attempt = _Attempt({"key": key, "task": task, "state": ACCEPTED, "at": now, "ahead": int(headers["X-Ax-Time"]) - now})
            try:
                self.journal.put(attempt.record(ACCEPTED))
            except OSError as fault:
                return 503, {"error": "this executor's journal can't be written: %s" % fault}
            attempt.slot = True
            self.running += 1
            self.attempts[key] = attempt
            self._spawn(self._carry, attempt)
        return 202, {"accepted": True}

    def _cancel(self, body: bytes) -> Tuple[int, Dict[str, Any]]:
        try:
            said = json.loads(body)
            key, reason = "%s/%s" % (said["traceId"], said["attempt"]), said.get("reason", "")
        except (ValueError, TypeError, KeyError, AttributeError):
            return 400, {"error": "the body is no cancel: a JSON object with traceId and attempt", "field": "traceId"}
        with self.mutex:
            attempt = self.attempts.get(key)
        if attempt is None:
            return 404, {"error": "attempt %s is not at work here" % said["attempt"]}
        attempt.cancel("cancelled by the center" + (": %s" % reason if reason else ""))
        return 202, {"cancelling": True}

    # --- what is said to the center

    def _call(self, attempt: _Attempt, name: str, body: Mapping[str, Any]) -> Dict[str, Any]:
        """POSTs one signed request; raises _Refused, or OSError and its kin where there was no answer."""
        raw = _dump(dict({"traceId": attempt.task["traceId"], "attempt": attempt.task["attempt"]}, **body))
        url = urlsplit(attempt.task["callbackUrl"])
        target = url.path.rpartition("/")[0] + "/" + name + ("?" + url.query if url.query else "")
        at, nonce = str(_now_ms()), randomness.token_urlsafe(24)
        with self.mutex:
            which = self.signing
        headers = {"Content-Type": "application/json", "X-Ax-Executor": self.name, "X-Ax-Time": at, "X-Ax-Nonce": nonce,
                   "X-Ax-Signature": sign(self.secrets[which], "POST", target, at, nonce, raw)}
        kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
        connection = kind(url.hostname or "", url.port, timeout=self.pace.call)
        try:
            connection.request("POST", target, raw, headers)
            answer = connection.getresponse()
            text = answer.read(MAX_BODY)
            try:
                said = json.loads(text)
            except ValueError:
                said = None
            if answer.status >= 300:
                if answer.status == 401:
                    with self.mutex:
                        if self.signing == which:
                            self.signing = (which + 1) % len(self.secrets)
                after = answer.getheader("Retry-After", "")
                why = said.get("error") if isinstance(said, dict) else None
                raise _Refused(answer.status, str(why or answer.reason), float(after) if after.isdigit() else 0.0)
            if not isinstance(said, dict):
                raise OSError("the center's answer to %s is not understood" % name)
            return said
        except http.client.HTTPException as fault:
            raise OSError("%s: %r" % (name, fault)) from fault
        finally:
            connection.close()

    def _carry(self, attempt: _Attempt) -> None:
        """Brings an attempt from where it stands to its end."""
        try:
            interrupted = attempt.state == STARTED
            if attempt.state == ACCEPTED and not self._obtain(attempt):
                return
            self._spawn(self._beat, attempt)
            self._spawn(self._ship, attempt)
            if interrupted and self.interrupted is None:
                self._finish(attempt, {"success": False, "message": "the executor was restarted while the task ran: how far it had come is not known"})
            elif attempt.state == STARTED:
                self._finish(attempt, self._perform(attempt, self.interrupted if interrupted else self.handlers.get(attempt.task["execType"])))
            self._release(attempt)
            self._deliver(attempt)
        finally:
            self._release(attempt)
            with self.mutex:
                self.attempts.pop(attempt.key, None)
            attempt.over.set()
            with attempt.lines.changed:
                attempt.lines.changed.notify_all()

    def _release(self, attempt: _Attempt) -> None:
        with self.mutex:
            if attempt.slot:
                attempt.slot = False
                self.running -= 1

    def _put(self, record: Dict[str, Any], known: bool) -> bool:
        assert self.journal is not None
        try:
            self.journal.put(record, known)
            return True
        except OSError as fault:
            self.log.error("executor journal: attempt %s: %s", record["key"], fault)
            return False

    def _settle(self, attempt: _Attempt, why: str) -> None:
        self._put({"state": SETTLED, "key": attempt.key, "at": _now_ms(), "why": why}, True)

    def _obtain(self, attempt: _Attempt) -> bool:
        """Claims until the attempt may be started at once, has been denied, or need not be asked for any more."""
        wait = _Backoff(self.pace.first, self.pace.claim)
        while not self.ending.is_set():
            asked, asked_wall = _boot(), time.time()

            def holds() -> bool:
                return _boot() - asked < CLAIM_HOLDS and abs(time.time() - asked_wall) < CLAIM_HOLDS

            after, granted = 0.0, False
            try:
                said = self._call(attempt, "claim", {})
                granted = said.get("granted") is True
                if not granted:
                    self._settle(attempt, "denied: %s" % said.get("reason", ""))
                    return False
                attempt.task["deadline"] = said.get("deadline") or attempt.task.get("deadline")
            except _Refused as fault:
                after = fault.after
                if fault.status in (400, 404, 410):
                    self._settle(attempt, "denied: %s" % fault.text)
                    return False
            except OSError as fault:
                self.log.debug("executor claim of %s: %s", attempt.key, fault)
            if self.ending.is_set():
                return False
            if attempt.stop.is_set():
                self._finish(attempt, {"success": False, "message": _clean(attempt.reason + "; it had not been started", MAX_MESSAGE)})
                return True
            if granted and holds() and self._put(attempt.record(STARTED), False) and holds():
                attempt.state = STARTED
                return True
            end = attempt.deadline()
            if end is not None and time.time() > end:
                self._settle(attempt, "its deadline came before a grant")
                return False
            attempt.stop.wait(0.001 if granted and not holds() else wait.next(after))
        return False

    def _perform(self, attempt: _Attempt, handler: Optional[Handler]) -> Dict[str, Any]:
        """Runs the handler and says how it ended."""
        if handler is None:  # taken before a restart that left the type out
            return {"success": False, "message": "this executor has no type %r any more" % attempt.task["execType"]}
        try:
            result = handler(Task(attempt))
        except Stopped as fault:
            return {"success": False, "message": _clean(str(fault) or attempt.stopped(), MAX_MESSAGE)}
        except BaseException as fault:  # a SystemExit ends the task, not the executor
            attempt.lines.add(traceback.format_exc(), "err")
            text = "%s: %s" % (type(fault).__name__, fault)
            return {"success": False, "message": _clean("%s: %s" % (attempt.stopped(), text) if attempt.stopped() else text, MAX_MESSAGE)}
        if result is None:
            return {"success": True}
        why = ""
        try:
            raw = _dump(dict(result))
            if len(raw) > MAX_RESULT:
                why = "it has %d bytes, at most %d are taken" % (len(raw), MAX_RESULT)
            elif b"\\u0000" in raw.replace(b"\\\\", b""):
                why = "it holds a NUL character"
            else:
                return {"success": True, "result": json.loads(raw)}
        except (TypeError, ValueError) as fault:
            why = "it is no JSON object: %s" % fault
        return {"success": True, "message": _clean("the result was not kept: " + why, MAX_MESSAGE)}

    def _finish(self, attempt: _Attempt, outcome: Dict[str, Any]) -> None:
        """Has the outcome in the journal before it is told to anybody."""
        attempt.outcome, attempt.state, attempt.ended_at = outcome, ENDED, _now_ms()
        self._put(attempt.record(ENDED), True)
        attempt.ended.set()

    def _deliver(self, attempt: _Attempt) -> None:
        """Reports until the center has the outcome, or this process stops: the next one goes on then."""
        attempt.lines.wait_empty(self.pace.late_lines)
        wait, told, report = _Backoff(self.pace.first, self.pace.report), False, dict(attempt.outcome or {})
        while not self.ending.is_set():
            after = 0.0
            try:
                self._call(attempt, "report", report)
                self._settle(attempt, "reported")
                return
            except _Refused as refused:
                fault: Exception = refused
                after = refused.after
                if refused.status in (400, 413) and "result" in report:
                    del report["result"]
                    report["message"] = _clean("the result was not kept, the center refused it: " + refused.text, MAX_MESSAGE)
            except OSError as broken:
                fault = broken
            if _now_ms() - attempt.ended_at > self.pace.give_up * 1000:
                self.log.error("executor report of %s is given up: %s", attempt.key, fault)
                self._settle(attempt, "given up: %s" % fault)
                return
            if not told:
                self.log.warning("executor report of %s is not taken; it is sent again until it is: %s", attempt.key, fault)
                told = True
            self.ending.wait(min(wait.next(after), self.pace.report))

    def _beat(self, attempt: _Attempt) -> None:
        """Tells the center that the attempt is in hands, and hears whether it should stop."""
        while not attempt.over.is_set() and not self.ending.is_set():
            attempt.news.clear()
            with attempt.mutex:
                body = {} if attempt.percent is None else {"progress": attempt.percent, "text": _clean(attempt.text, MAX_MESSAGE)[:MAX_TEXT]}
            try:
                said = self._call(attempt, "heartbeat", body)
                if said.get("cancel") is True:
                    reason = said.get("reason", "")
                    attempt.cancel("cancelled by the center" + (": %s" % reason if reason else ""))
            except (_Refused, OSError) as fault:
                self.log.debug("executor heartbeat of %s: %s", attempt.key, fault)
            if not attempt.over.wait(self.pace.progress):
                rest, end = self.pace.beat - self.pace.progress, _boot() + self.pace.beat - self.pace.progress
                while rest > 0 and not attempt.news.is_set() and not attempt.over.wait(min(rest, 0.2)):
                    rest = end - _boot()

    def _ship(self, attempt: _Attempt) -> None:
        """Sends the lines until the attempt is settled and they are stored, or for a while after that."""
        lines, wait, last = attempt.lines, _Backoff(self.pace.first, self.pace.claim), 0.0
        while not self.ending.is_set():
            over = attempt.over.is_set()
            if over:
                last = last or _boot() + self.pace.linger
            with lines.changed:
                if not lines.unsent:
                    if over:
                        return
                    lines.changed.wait(1)
                    continue
            if last and _boot() > last:
                return
            if not attempt.ended.is_set():
                attempt.ended.wait(self.pace.logs)  # more may come
            first, batch = lines.batch()
            pause = 0.0
            try:
                up_to = self._call(attempt, "log", {"first": first, "lines": batch}).get("upTo")
                if isinstance(up_to, int):
                    lines.stored(up_to)
                pause = 0.0 if isinstance(up_to, int) and up_to >= first else wait.next()
            except _Refused as fault:
                if fault.status in (400, 404, 413):
                    self.log.warning("executor: %d log lines of %s were refused and are dropped: %s", len(batch), attempt.key, fault)
                    lines.stored(first + len(batch) - 1)
                else:
                    pause = wait.next(fault.after)
            except OSError as broken:
                self.log.debug("executor log of %s: %s", attempt.key, broken)
                pause = wait.next()
            if pause:
                attempt.over.wait(pause) if not over else self.ending.wait(pause)
            else:
                wait.last = 0.0


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


class _Requests(http.server.BaseHTTPRequestHandler):
    """What the center sends, at any path: one that ends in /health or /cancel is that, any other POST a task."""

    owner: Executor
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_GET(self) -> None:
        if not urlsplit(self.path).path.rstrip("/").endswith("/health"):
            self.reply(405, {"error": "an executor is sent tasks by POST, and probed by GET .../health"})
            return
        with self.owner.mutex:
            why = self.owner._full()
        self.reply(503 if why else 200, {"error": why} if why else {"executor": self.owner.name, "types": sorted(self.owner.handlers)})

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isdigit():
            self.close_connection = True
            self.reply(411, {"error": "Content-Length is missing"})
            return
        if int(length) > MAX_BODY:
            self.close_connection = True
            self.reply(413, {"error": "the body is over %d bytes" % MAX_BODY})
            return
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            self.close_connection = True
            return
        fault = self.owner._verified("POST", self.path, self.headers, body)
        if fault:
            self.reply(401, fault)
        elif urlsplit(self.path).path.rstrip("/").endswith("/cancel"):
            self.reply(*self.owner._cancel(body))
        else:
            self.reply(*self.owner._accept(self.headers, body))

    def reply(self, status: int, said: Mapping[str, Any]) -> None:
        raw = _dump(said)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        if status == 503:
            self.send_header("Retry-After", "1")
        if status == 405:
            self.send_header("Allow", "POST")
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: Any) -> None:
        self.owner.log.debug(format, *args)
