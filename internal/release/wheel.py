"""wheel.py VERSION SYSTEM/PROCESSOR PROGRAM LICENCE OUT: packs program segment and its Python package as a wheel.

The form is packaging.python.org's "Binary distribution format".
"""

import base64
import hashlib
import os
import pathlib
import sys
import time
import zipfile

PLATFORMS = {  # Go's names and pip's: glibc 2.17, and the macOS that Go wants
    "linux/amd64": "manylinux_2_17_x86_64",
    "linux/arm64": "manylinux_2_17_aarch64",
    "darwin/amd64": "macosx_12_0_x86_64",
    "darwin/arm64": "macosx_12_0_arm64",
    "windows/amd64": "win_amd64",
    "windows/arm64": "win_arm64",
}

version, target, program, licence, out = sys.argv[1:]
root = pathlib.Path(__file__).parents[2]
tag = f"py3-none-{PLATFORMS[target]}"
about = f"mrprism-{version}.dist-info"
files = {f"mrprism/{p.name}": p.read_bytes() for p in sorted(root.glob("cmd/segment/python/mrprism/*.*"))}
ending = ".exe" if target.startswith("windows") else ""
files[f"mrprism/mrprism-segment{ending}"] = pathlib.Path(program).read_bytes()
files[f"{about}/licenses/LICENSE"] = pathlib.Path(licence).read_bytes()
files[f"{about}/METADATA"] = f"""Metadata-Version: 2.1
Name: mrprism
Version: {version}
Summary: Segment medical images that several experts have marked
License: MIT
Requires-Python: >=3.9
Requires-Dist: numpy

For research. Not a medical device. help(mrprism) has the rest.
""".encode()
files[f"{about}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: mrprism\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
digests = {name: base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode() for name, data in files.items()}
record = "".join(f"{name},sha256={digests[name]},{len(data)}\n" for name, data in files.items())
files[f"{about}/RECORD"] = f"{record}{about}/RECORD,,\n".encode()
when = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", 0)), 315532800))[:6]  # a ZIP begins in 1980
path = pathlib.Path(out, f"mrprism-{version}-{tag}.whl")
with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
    for name, data in files.items():
        info = zipfile.ZipInfo(name, when)
        info.external_attr = (0o100755 if name.startswith("mrprism/mrprism-segment") else 0o100644) << 16
        wheel.writestr(info, data, zipfile.ZIP_DEFLATED)
print(path)
