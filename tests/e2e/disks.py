# SPDX-License-Identifier: MIT
"""Small disks of a test's own, which fill up or fail when it wants. Mounting them needs root."""
import fcntl
import os
import shutil
import struct
import subprocess

import pytest

SHUTDOWN = 0x8004587D  # FS_IOC_SHUTDOWN: from then on nothing is written
WITHOUT_JOURNAL = 2


class Disk:
    """Of memory; or of a kind ("ext4", "btrfs") in a file."""

    def __init__(self, folder, size, kind="tmpfs"):
        self.folder = str(folder)
        if os.getuid() != 0:
            pytest.skip("mounting needs root")
        if kind != "tmpfs" and shutil.which(f"mkfs.{kind}") is None:
            pytest.skip(f"there is no mkfs.{kind}")
        os.makedirs(self.folder)
        if kind == "tmpfs":
            mount = ["-t", kind, "-o", f"size={size}", kind]
        else:
            image = f"{self.folder}.image"
            subprocess.run(["truncate", "-s", size, image], check=True)
            subprocess.run([f"mkfs.{kind}", "-q", *(["-M"] if kind == "btrfs" else []), image],
                           check=True)
            mount = ["-o", "loop", image]
        if subprocess.run(["mount", *mount, self.folder], check=False).returncode != 0:
            pytest.skip(f"a {kind} cannot be mounted here")

    def fill(self):
        for size in 1 << 16, 4096, 1:  # down to the last place in what holds its files
            with open(os.path.join(self.folder, "full"), "ab", buffering=0) as out:
                try:
                    while True:
                        out.write(os.urandom(size))
                        if size == 1:
                            break
                except OSError:
                    pass
        os.sync()

    def empty(self):
        os.unlink(os.path.join(self.folder, "full"))

    def fail(self):
        """Each call is answered by EIO from now on, as by a disk that was pulled out."""
        handle = os.open(self.folder, os.O_RDONLY)
        fcntl.ioctl(handle, SHUTDOWN, struct.pack("I", WITHOUT_JOURNAL))
        os.close(handle)

    def close(self):
        subprocess.run(["umount", "-l", self.folder], check=True)


@pytest.fixture
def disk():
    """disk(folder, "300k") → a Disk that is there as long as the test."""
    made = []

    def one(*arguments):
        made.append(Disk(*arguments))
        return made[-1]
    yield one
    for each in made:
        each.close()
