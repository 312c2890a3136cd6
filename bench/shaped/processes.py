# SPDX-License-Identifier: Apache-2.0
"""Child processes that end with us, whatever ends us."""
import ctypes
import signal
import subprocess
import time

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)


def _die_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def start(command, log=None, **options):
    """In a group of its own, so that Ctrl-C reaches us alone and we end the others in order."""
    if log is not None:
        with open(log, "wb") as file:
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True,
                                    preexec_fn=_die_with_parent, **options)
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=_die_with_parent, **options)


def end(processes, grace=5):
    for process in processes:
        if process.poll() is None:
            process.terminate()
    deadline = time.monotonic() + grace
    for process in processes:
        try:
            process.wait(max(0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def output(command, timeout, **options):
    """(exit code, stdout, stderr); whatever interrupts us ends the child first. Exit code 124: it took too long."""
    process = start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    try:
        out, err = process.communicate(timeout=timeout)
        return process.returncode, out, err
    except subprocess.TimeoutExpired:
        return 124, "", f"still running after {timeout} s"
    finally:
        end([process])
