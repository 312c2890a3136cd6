# SPDX-License-Identifier: Apache-2.0
"""Every method that the binary knows, as real processes: it learns, and a killed worker ends the job by name."""
import json
import os
import signal
import subprocess
import unittest

from gg_cluster import BIN, SLOW, ClusterTest

# What a method needs for a job of a few steps to learn as the others do.
SETTINGS = {"gosgd": ["exchange.push_probability=0.5"], "none": ["exchange.final_average=false"]}


def methods():
    done = subprocess.run([str(BIN / "ggctl"), "explain", "spec.exchange.algorithm", "-o", "json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["items"][0]["values"]


class Methods(ClusterTest):
    def arguments(self, method):
        pairs = [f"exchange.algorithm={method}", *SETTINGS.get(method, [])]
        return [argument for pair in pairs for argument in ("--set", pair)]

    def test_every_method_learns(self):
        self.assertGreater(len(methods()), 10)
        for method in methods():
            with self.subTest(method=method):
                result = self.result("-f", self.job(samples=2048, epochs=3), "--workers", 3, *self.arguments(method))
                self.assertEqual(result["state"], "Succeeded")
                self.assertEqual(result["skipped_exchanges"], 0)
                self.assertLess(result["train_loss"][-1], 0.8 * result["train_loss"][0])
                sends = method != "none"
                self.assertEqual(result["messages_per_step"] > 0, sends)
                self.assertEqual(result["sent_bytes_per_step"] > 0, sends)

    def test_a_killed_worker_is_named_whatever_the_method(self):
        for method in ("allreduce", "gosgd", "reduce-scatter") if SLOW else methods():
            with self.subTest(method=method):
                run = self.start("local", "run", "-f", self.long_job(), "--workers", 3, "-o", "json", *self.arguments(method))
                victim = run.wait_until_training(3)[1]
                os.kill(victim, signal.SIGKILL)
                self.assertEqual(run.finish(60), 8, run.stderr())
                self.assertIn(f"pid {victim}", run.stderr())


if __name__ == "__main__":
    unittest.main()
