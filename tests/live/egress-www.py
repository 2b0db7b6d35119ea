# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a package registry of each kind serves, as files: egress-www.py DIR"""
import base64
import hashlib
import io
import json
import os
import sys
import tarfile
import zipfile

DIR = sys.argv[1]


def put(path, data):
    os.makedirs(os.path.dirname(f"{DIR}/{path}"), exist_ok=True)
    with open(f"{DIR}/{path}", "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())


def npm():
    buf = io.BytesIO()
    with tarfile.open(fileobj=buf, mode="w:gz") as t:
        for name, text in (("package.json", '{"name": "hello-box", "version": "1.0.0"}'),
                           ("index.js", 'module.exports = "hello of npm"')):
            info = tarfile.TarInfo("package/" + name)
            info.size = len(text)
            t.addfile(info, io.BytesIO(text.encode()))
    data = buf.getvalue()
    put("npm/hello-box-1.0.0.tgz", data)
    dist = {"tarball": "http://web.example.test/www/npm/hello-box-1.0.0.tgz", "shasum": hashlib.sha1(data).hexdigest(),
            "integrity": "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()}
    put("npm/hello-box.json", json.dumps({
        "name": "hello-box", "dist-tags": {"latest": "1.0.0"},
        "versions": {"1.0.0": {"name": "hello-box", "version": "1.0.0", "dist": dist}}}))


def pip():
    buf = io.BytesIO()
    meta = "hello_box-1.0.dist-info/"
    with zipfile.ZipFile(buf, "w") as z:
        z.writestr("hello_box.py", "")
        z.writestr(meta + "METADATA", "Metadata-Version: 2.1\nName: hello-box\nVersion: 1.0\n")
        z.writestr(meta + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        z.writestr(meta + "RECORD", "")
    wheel = "hello_box-1.0-py3-none-any.whl"
    put("simple/hello-box/" + wheel, buf.getvalue())
    digest = hashlib.sha256(buf.getvalue()).hexdigest()
    put("simple/hello-box/index.html", f'<!DOCTYPE html><a href="{wheel}#sha256={digest}">{wheel}</a>\n')


def cargo():
    """The index becomes a repository of git."""
    buf = io.BytesIO()
    with tarfile.open(fileobj=buf, mode="w:gz") as t:
        for name, text in (("Cargo.toml", '[package]\nname = "hello-box"\nversion = "1.0.0"\n'),
                           ("src/lib.rs", "// hello of cargo\n")):
            info = tarfile.TarInfo("hello-box-1.0.0/" + name)
            info.size = len(text)
            t.addfile(info, io.BytesIO(text.encode()))
    data = buf.getvalue()
    put("cargo/hello-box-1.0.0.crate", data)
    put("index/config.json", json.dumps({"dl": "https://web.example.test/www/cargo/{crate}-{version}.crate"}))
    put("index/he/ll/hello-box", json.dumps({
        "name": "hello-box", "vers": "1.0.0", "deps": [], "cksum": hashlib.sha256(data).hexdigest(),
        "features": {}, "yanked": False}) + "\n")


def apt():
    packages = ("Package: hello-box\nVersion: 1.2.3-4\nArchitecture: all\nMaintainer: x <x@example.test>\n"
                "Filename: ./hello-box.deb\nSize: 1\nSHA256: " + hashlib.sha256(b"x").hexdigest() + "\nDescription: x\n")
    put("apt/Packages", packages)
    put("apt/Release", "Suite: x\nCodename: x\nDate: Thu, 01 Jan 2026 00:00:00 UTC\nSHA256:\n"
        f" {hashlib.sha256(packages.encode()).hexdigest()} {len(packages)} Packages\n")


npm()
cargo()
pip()
apt()
