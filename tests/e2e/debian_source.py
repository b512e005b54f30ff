# SPDX-License-Identifier: MIT
"""Packages of Debian and their sources, as apt gives them out here, into folders of their own:
nothing is installed."""
import glob
import os
import shutil
import subprocess

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


def apt(folder, options, *words):
    done = subprocess.run(["apt-get", *options, *words], cwd=folder, check=False, timeout=300,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0 and words != ("update",):  # places that are not Debian's fail there
        raise OSError(f"apt-get {words[0]}: {done.stderr.strip()[-500:]}")
    return done.stdout


def known_places():
    """Where this machine has its packages from, each with a release; apt tells, however it is set."""
    done = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME)",
                           "Created-By: Packages"], check=False, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    found = sorted(set(done.stdout.splitlines()))
    if not found:
        raise OSError("apt-get knows no place of packages")
    return found


def places(is_release_only):
    """The same, for their sources."""
    found = [line for line in known_places()
             if not (is_release_only and "-" in line.rpartition(" ")[2])]
    return "".join(f"deb-src [signed-by={KEYRING}] {place} main\n" for place in found)


def debian_source(folder, package):
    """The path of the upstream archive of a source package, PACKAGE or PACKAGE=VERSION: of the
    release itself where no version is wanted, which updates do not change."""
    for name in ("lists/partial", "cache/archives/partial"):
        os.makedirs(os.path.join(folder, name))
    listed = os.path.join(folder, "sources.list")
    with open(listed, "w", encoding="ascii") as file:
        file.write(places("=" not in package))
    settings = {"Dir::Etc::sourcelist": listed, "Dir::Etc::sourceparts": "/dev/null",
                "Dir::State::lists": f"{folder}/lists", "Dir::Cache": f"{folder}/cache",
                "APT::Sandbox::User": ""}
    options = ["-qq", *[part for name, value in settings.items()
                        for part in ("-o", f"{name}={value}")]]
    apt(folder, options, "update")
    apt(folder, options, "source", "--download-only", package)
    [archive] = glob.glob(os.path.join(folder, "*.orig.tar.*"))
    return archive


def debian_package(folder, package):
    """The folder with the files of a package, PACKAGE=VERSION."""
    os.makedirs(folder)
    apt(folder, ["-qq", "-o", "APT::Sandbox::User="], "download", package)
    [archive] = glob.glob(os.path.join(folder, "*.deb"))
    subprocess.run(["dpkg", "-x", archive, folder], check=True)
    return folder


def debian_newer(folder, release, packages, alone):
    """The files of packages of another release, with all that they need, into the folder; of those
    in 'alone' without that."""
    here = subprocess.run(["sh", "-c", ". /etc/os-release; echo $VERSION_CODENAME"], check=True,
                          capture_output=True, text=True).stdout.strip()
    own = os.path.join(folder, "apt")
    for name in ("lists/partial", "cache/archives/partial"):
        os.makedirs(os.path.join(own, name))
    listed, status = (os.path.join(own, name) for name in ("sources.list", "status"))
    with open(listed, "w", encoding="ascii") as file:
        for line in known_places():
            if line.endswith(f" {here}"):
                place = line.rpartition(" ")[0]
                file.write(f"deb [signed-by={KEYRING}] {place} {release} main\n")
    with open(status, "w", encoding="ascii"):
        pass  # nothing is installed there
    settings = {"Dir::Etc::sourcelist": listed, "Dir::Etc::sourceparts": "/dev/null",
                "Dir::State": own, "Dir::State::status": status, "Dir::Cache": f"{own}/cache",
                "Debug::NoLocking": "1", "APT::Sandbox::User": ""}
    options = ["-qq", *[part for name, value in settings.items()
                        for part in ("-o", f"{name}={value}")]]
    apt(folder, options, "update")
    apt(folder, options, "install", "--no-install-recommends", "--download-only", "-y", *packages)
    if alone:
        apt(own, options, "download", *alone)
    for archive in glob.glob(os.path.join(own, "cache/archives/*.deb")) + glob.glob(f"{own}/*.deb"):
        subprocess.run(["dpkg", "-x", archive, folder], check=True)
    shutil.rmtree(own)
