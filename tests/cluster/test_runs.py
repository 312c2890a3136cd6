# SPDX-License-Identifier: Apache-2.0
"""Jobs that go well: any number of workers, every payload and overlap, several clusters at once."""
import unittest

from gg_cluster import SLOW, ClusterTest

KEYS = {"state", "workers", "steps", "epochs", "test_accuracy", "replica_accuracy", "train_loss", "samples_per_second",
        "sent_bytes_per_step", "messages_per_step", "comm_wait_ratio", "consensus_distance", "skipped_exchanges"}


class Runs(ClusterTest):
    def test_any_number_of_workers_finishes(self):
        for workers in (1, 2, 3, 5) if SLOW else (1, 2, 3, 5, 8, 16):
            with self.subTest(workers=workers):
                result = self.result("-f", self.job(samples=1024, epochs=2), "--workers", workers)
                self.assertLessEqual(KEYS, set(result))
                self.assertEqual(result["state"], "Succeeded")
                self.assertEqual(result["workers"], workers)
                self.assertEqual(len(result["replica_accuracy"]), workers)
                self.assertEqual(len(result["train_loss"]), 2)
                self.assertEqual(result["steps"], 2 * -(-(-(-1024 // workers)) // 16))
                self.assertEqual(result["skipped_exchanges"], 0)
                self.assertGreater(result["samples_per_second"], 0)

    def test_every_payload_and_overlap_learns(self):
        for payload in ("gradients", "weights", "weights-momentum"):
            for overlap in ("none", "layerwise", "step"):
                with self.subTest(payload=payload, overlap=overlap):
                    result = self.result("-f", self.job(samples=2048, epochs=3), "--workers", 3,
                                         "--set", f"exchange.payload={payload}", "--set", f"exchange.overlap={overlap}")
                    self.assertLess(result["train_loss"][-1], 0.7 * result["train_loss"][0])

    def test_hypercube_on_four(self):
        result = self.result("-f", self.job(), "--workers", 4, "--set", "exchange.schedule=hypercube")
        self.assertEqual(result["state"], "Succeeded")

    def test_messages_and_bytes_do_not_grow_with_workers(self):
        costs = {}
        for workers in (2, 4) if SLOW else (2, 4, 8, 16):
            result = self.result("-f", self.job(samples=2048), "--workers", workers)
            costs[workers] = (result["messages_per_step"], result["sent_bytes_per_step"])
        self.assertEqual(len(set(costs.values())), 1, costs)

    def test_compare_runs_two_methods_on_the_same_data(self):
        run = self.start("compare", "-f", self.job(samples=1024, epochs=3), "--workers", 2,
                         "--algorithms", "gossip-grad,allreduce:overlap=none", "--target", "0.2", "-o", "json")
        self.assertEqual(run.finish(120), 0, run.stderr())
        document = run.json()
        self.assertEqual([row["label"] for row in document["results"]], ["gossip-grad", "allreduce:overlap=none"])
        for row in document["results"]:
            self.assertLessEqual(KEYS, set(row))
            curve = row["curve"]
            self.assertEqual([point["epoch"] for point in curve], [1, 2, 3])
            self.assertEqual(curve[-1]["step"], row["steps"])
            self.assertEqual([point["train_loss"] for point in curve], row["train_loss"])
            self.assertEqual([point["test_accuracy"] for point in curve], row["test_accuracy_by_epoch"])
            for earlier, later in zip(curve, curve[1:]):
                self.assertLess(earlier["seconds"], later["seconds"])
                self.assertLess(earlier["sent_bytes"], later["sent_bytes"])
            self.assertLessEqual(curve[-1]["sent_bytes"], row["sent_bytes_per_step"] * row["steps"] * (1 + 1e-9))
        self.assertEqual(document["summary"][0]["epochs_to_target"]["count"], 1)

    def test_two_clusters_on_one_host(self):
        first = self.start("local", "run", "-f", self.job("one", 4096, 4), "--workers", 2, "-o", "json")
        second = self.start("local", "run", "-f", self.job("two", 4096, 4), "--workers", 2, "-o", "json")
        self.assertEqual(second.finish(120), 0, second.stderr())
        self.assertEqual(first.finish(120), 0, first.stderr())


if __name__ == "__main__":
    unittest.main()
