"""A script that a cluster starts: it makes sure that its process ends with the parent, and then becomes the broker.

    python -I -S exec_with_parent_death.py PARENT_PID COMMAND ARGUMENT...

The kernel's parent-death signal survives exec, and also ends a process that SIGSTOP has stopped. The command need not do
anything for it (a Java machine does not watch its standard input). The signal is set here, in a process of one thread: between
fork and exec of a notebook kernel with many threads no Python should run.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1

if __name__ == "__main__":
    parent, command = int(sys.argv[1]), sys.argv[2:]
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended before the signal was set
        sys.exit("the cluster that started this broker is gone")
    os.umask(0o077)  # a broker's files are for its owner only
    os.execvp(command[0], command)
