"""Hands each HTTP request to a program, as a web server does by CGI: listen.py PORT PROGRAM.

The program gets REQUEST_METHOD, REQUEST_TARGET and the headers as HTTP_... in its environment, and the body on its standard input.
What it prints is the status, a line feed, and the JSON that is answered. At the start it is run as "PROGRAM resume", at
SIGTERM as "PROGRAM drain" until that succeeds, at most half a minute.
"""
import http.server
import os
import signal
import subprocess
import sys
import threading
import time


class Requests(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        env = dict(os.environ, REQUEST_METHOD=self.command, REQUEST_TARGET=self.path)
        env.update(("HTTP_" + name.upper().replace("-", "_"), value) for name, value in self.headers.items())
        body = self.rfile.read(min(int(self.headers.get("Content-Length") or 0), 1 << 20))
        said = subprocess.run(sys.argv[2:], input=body, env=env, stdout=subprocess.PIPE).stdout
        status, _, answer = said.partition(b"\n")
        self.send_response(int(status) if status.isdigit() else 500)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.send_header("Retry-After", "1")
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_POST


server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Requests)
stop = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: stop.set())
subprocess.Popen(sys.argv[2:] + ["resume"])
threading.Thread(target=server.serve_forever, daemon=True).start()
print("listening on 127.0.0.1:%d" % server.server_address[1], flush=True)
while not stop.wait(1):
    pass
for _ in range(60):
    if subprocess.run(sys.argv[2:] + ["drain"]).returncode == 0:
        break
    time.sleep(0.5)
