# SPDX-License-Identifier: Apache-2.0
"""A process on a pseudo-terminal, and as much of a terminal as ggctl uses, to see what its user sees."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

SEQUENCE = re.compile(r"\x1b\[(\?)?([0-9;]*)([A-Za-z])")


class Screen:
    """Lines of text below each other, without a lower end. Long lines wrap at `columns`."""

    def __init__(self, columns):
        self.columns = columns
        self.lines = [""]
        self.row = self.column = 0
        self.cursor_visible = True
        self.unknown = []  # sequences that are not understood here
        self.pending = ""

    def feed(self, text):
        text = self.pending + text
        self.pending = ""
        at = 0
        while at < len(text):
            char = text[at]
            if char == "\x1b":
                match = SEQUENCE.match(text, at)
                if match is None:
                    self.pending = text[at:]
                    return
                self.sequence(match[1], match[2], match[3], match[0])
                at = match.end()
                continue
            at += 1
            if char == "\r":
                self.column = 0
            elif char == "\n":
                self.move_to(self.row + 1)
            else:
                self.put(char)

    def put(self, char):
        if self.column == self.columns:
            self.move_to(self.row + 1)
            self.column = 0
        line = self.lines[self.row].ljust(self.column)
        self.lines[self.row] = line[:self.column] + char + line[self.column + 1:]
        self.column += 1

    def move_to(self, row):
        self.row = max(0, row)
        while len(self.lines) <= self.row:
            self.lines.append("")

    def sequence(self, private, numbers, final, whole):
        count = int(numbers) if numbers.isdigit() else 1
        if final == "m":
            return
        if private and numbers == "25" and final in "hl":
            self.cursor_visible = final == "h"
        elif final == "A":
            self.move_to(self.row - count)
        elif final == "K":
            self.lines[self.row] = self.lines[self.row][:self.column]
        elif final == "J":
            self.lines[self.row] = self.lines[self.row][:self.column]
            del self.lines[self.row + 1:]
        else:
            self.unknown.append(whole)

    def text(self):
        return "\n".join(line.rstrip() for line in self.lines)


class TerminalProcess:
    """Runs a command with a pseudo-terminal as its standard streams and its controlling terminal."""

    def __init__(self, argv, env, columns=100, rows=40):
        self.screen = Screen(columns)
        self.raw = ""
        self.master, slave = pty.openpty()
        self.resize(columns, rows)

        def take_terminal():
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(argv, stdin=slave, stdout=slave, stderr=slave, env=env,
                                        start_new_session=True, preexec_fn=take_terminal)
        os.close(slave)

    def resize(self, columns, rows=40):
        self.screen.columns = columns
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds):
        """Feeds the screen with what comes; False at the end of the output."""
        if not select.select([self.master], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.master, 65536)
        except OSError:  # the other end is closed
            return False
        text = data.decode("utf-8", "replace")
        self.raw += text
        self.screen.feed(text)
        return bool(data)

    def wait_for(self, condition, what, seconds):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if condition():
                return
            if not self.read(0.05):
                break
        assert condition(), f"{what} did not happen; the screen:\n{self.screen.text()}"

    def press_ctrl_c(self):
        os.write(self.master, b"\x03")

    def finish(self, seconds):
        """The exit code, after all output was read."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self.read(0.1):
            pass
        try:
            return self.process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still runs after {seconds} s; the screen:\n{self.screen.text()}") from None

    def settings(self):
        """What a program may change of a terminal and must put back."""
        return termios.tcgetattr(self.master)

    def destroy(self):
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self.master)
