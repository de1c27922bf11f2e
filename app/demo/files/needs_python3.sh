command -v python3 >/dev/null 2>&1 && exit 0
echo "python3 is not installed where this worker runs, and the demo's scripts need it (nothing else in AX does):" >&2
echo "install it, for instance with apt-get install python3, and rerun this instance" >&2
exit 127
