"""Builds ../wheels/acme_table_kit-1.0-py3-none-any.whl: a wheel is a zip with a few texts beside the code."""
import base64
import hashlib
import pathlib
import zipfile

here = pathlib.Path(__file__).parent
info = "acme_table_kit-1.0.dist-info"
files = {
    "acme_table/__init__.py": (here / "acme_table/__init__.py").read_bytes(),
    info + "/METADATA": b"Metadata-Version: 2.1\nName: acme-table-kit\nVersion: 1.0\nSummary: draws small tables of text\n",
    info + "/WHEEL": b"Wheel-Version: 1.0\nGenerator: build.py\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
}
record = ""
for name, data in files.items():
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    record += f"{name},sha256={digest},{len(data)}\n"
files[info + "/RECORD"] = (record + info + "/RECORD,,\n").encode()
target = here.parent / "wheels/acme_table_kit-1.0-py3-none-any.whl"
with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as wheel:
    for name, data in files.items():
        wheel.writestr(zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0)), data)
