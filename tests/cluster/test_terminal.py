# SPDX-License-Identifier: Apache-2.0
"""`ggctl local run` on a terminal: what its user sees, and how the terminal is left."""
import os
import re
import unittest
import uuid

from gg_cluster import BIN, PATIENCE, ClusterTest, processes_with
from vt import TerminalProcess

# A network on plain loops: some seconds of training on any machine, so that there are frames to see.
SLOW_NETWORK = ("--set", "model.name=lenet", "--set", "workers.device=reference", "--set", "data.shape=[1,28,28]",
                "--set", "data.test_samples=40")
FACTS = ("loss ", "accuracy ", "samples/s", "exposed communication ", "ETA ")


class OnATerminal(ClusterTest):
    def run_on_terminal(self, job, columns=120, env=None, *more):
        token = uuid.uuid4().hex
        environment = dict(os.environ, GG_TEST_TOKEN=token, TERM="xterm-256color", LC_ALL="C.UTF-8")
        for name in ("COLUMNS", "NO_COLOR"):
            environment.pop(name, None)
        environment.update(env or {})
        terminal = TerminalProcess([str(BIN / "ggctl"), "local", "run", "-f", str(job), "--workers", "2", *more],
                                   environment, columns)
        terminal.token = token
        self.addCleanup(terminal.destroy)
        terminal.before = terminal.settings()
        return terminal

    def wait_for_progress(self, terminal):
        terminal.wait_for(lambda: re.search(r"step [1-9]", terminal.screen.text()), "a frame of a running job", 60 * PATIENCE)

    def finish(self, terminal, code, seconds=60):
        self.assertEqual(terminal.finish(seconds * PATIENCE), code, terminal.screen.text())
        self.assertEqual(processes_with(terminal.token), {})
        self.assertTrue(terminal.screen.cursor_visible)
        self.assertEqual(terminal.screen.unknown, [])
        self.assertEqual(terminal.settings(), terminal.before)

    def test_the_block_is_drawn_in_place_and_the_summary_follows(self):
        terminal = self.run_on_terminal(self.job(samples=384, epochs=2), 120, None, *SLOW_NETWORK)
        self.wait_for_progress(terminal)
        for fact in FACTS:
            self.assertIn(fact, terminal.screen.text())
        self.assertRegex(terminal.screen.text(), r"[█░▏▎▍▌▋▊▉]{4,}  +\d+%  epoch \d")
        self.finish(terminal, 0)
        shown = terminal.screen.text()
        # Many frames were drawn; one is on the screen, the last, and it is full.
        self.assertGreater(terminal.raw.count("samples/s"), 3)
        self.assertEqual(shown.count("exposed communication"), 1, shown)
        self.assertIn("100%", shown)
        self.assertIn("Succeeded", shown)
        self.assertIn("test accuracy", shown.split("Succeeded", 1)[1])
        # The summary stands below the block, on lines of its own.
        self.assertRegex(shown, r"(?m)^state +Succeeded$")

    def test_forty_columns_wrap_nothing(self):
        terminal = self.run_on_terminal(self.long_job(), columns=40)
        self.wait_for_progress(terminal)
        for _ in range(20):
            terminal.read(0.1)
        block = terminal.screen.text()
        self.assertEqual(block.count("loss "), 1, block)
        self.assertEqual(block.count("step "), 1, block)
        for fact in FACTS:
            self.assertIn(fact.strip(), " ".join(block.split()), block)
        for line in terminal.screen.lines:
            self.assertLess(len(line), 40, block)
        terminal.press_ctrl_c()
        self.finish(terminal, 130)

    def test_a_resized_window_gets_a_block_of_its_width(self):
        terminal = self.run_on_terminal(self.long_job(), columns=120)
        self.wait_for_progress(terminal)
        terminal.resize(60)
        drawn = len(terminal.raw)

        def last_frame():
            return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.raw[drawn:]).replace("\r", "").split("\n")

        terminal.wait_for(lambda: len(last_frame()) > 12, "frames after the resize", 30 * PATIENCE)
        for line in last_frame()[-9:]:
            self.assertLess(len(line), 60)
        terminal.press_ctrl_c()
        self.finish(terminal, 130)

    def test_ctrl_c_stops_all_and_leaves_the_terminal_usable(self):
        terminal = self.run_on_terminal(self.long_job())
        self.wait_for_progress(terminal)
        terminal.press_ctrl_c()
        self.finish(terminal, 130, 10)
        shown = terminal.screen.text()
        self.assertIn("interrupted", shown)
        # What is written next begins a line of its own, below everything.
        self.assertEqual(terminal.screen.column, 0)
        self.assertEqual(terminal.screen.row, len(terminal.screen.lines) - 1)

    def test_no_color_keeps_the_block_and_drops_the_colors(self):
        terminal = self.run_on_terminal(self.long_job(), env={"NO_COLOR": "1"})
        self.wait_for_progress(terminal)
        terminal.press_ctrl_c()
        self.finish(terminal, 130)
        self.assertNotRegex(terminal.raw, r"\x1b\[[0-9;]*m")
        self.assertIn("\x1b[", terminal.raw)

    def test_a_dumb_terminal_gets_plain_lines(self):
        terminal = self.run_on_terminal(self.long_job(), env={"TERM": "dumb"})
        terminal.wait_for(lambda: "long: Running" in terminal.raw, "a plain line", 60 * PATIENCE)
        terminal.press_ctrl_c()
        self.finish(terminal, 130)
        self.assertNotIn("\x1b", terminal.raw)

    def test_another_locale_gets_ascii(self):
        terminal = self.run_on_terminal(self.long_job(), env={"LC_ALL": "C"})
        self.wait_for_progress(terminal)
        terminal.press_ctrl_c()
        self.finish(terminal, 130)
        self.assertTrue(terminal.raw.isascii())
        self.assertRegex(terminal.raw, r"\[#*\.*\]  +\d+%")


if __name__ == "__main__":
    unittest.main()
