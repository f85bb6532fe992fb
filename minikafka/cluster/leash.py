"""Started as a script between a cluster and its broker: ties the process to its parent's life, then becomes the broker.

    python -I -S leash.py PARENT_PID COMMAND ARGUMENT...

The parent-death signal survives exec, reaches a process that is stopped by SIGSTOP, and asks nothing of the command (a
Java virtual machine does not watch its standard input). Setting it here, after the fork and in a process of one thread,
avoids running Python between fork and exec of a notebook kernel with many threads.
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
    os.umask(0o077)  # what a broker writes is for its owner only
    os.execvp(command[0], command)
