# SPDX-License-Identifier: Apache-2.0
"""Real data (Fashion-MNIST): bits, costs and accuracy of the example job."""
import statistics
import unittest

from gg_cluster import SOURCE, ClusterTest

EXAMPLE = SOURCE / "examples" / "fashion-lenet.yaml"


class Reproducible(ClusterTest):
    SHORT = ("--set", "data.limit_train=4096", "--set", "data.limit_test=1000", "--set", "train.epochs=2")

    def twice(self, *arguments):
        first = self.result("-f", EXAMPLE, *self.SHORT, *arguments, seconds=200)
        second = self.result("-f", EXAMPLE, *self.SHORT, *arguments, seconds=200)
        self.assertEqual(first["skipped_exchanges"], 0)
        self.assertEqual(first["model_checksum"], second["model_checksum"])
        self.assertEqual(first["train_loss"], second["train_loss"])
        return first

    def test_four_workers_twice_give_the_same_bits(self):
        for overlap in ("none", "layerwise"):
            with self.subTest(overlap=overlap):
                self.twice("--workers", 4, "--set", f"exchange.overlap={overlap}")

    def test_another_seed_gives_other_bits(self):
        first = self.result("-f", EXAMPLE, *self.SHORT, "--workers", 2, seconds=200)
        second = self.result("-f", EXAMPLE, *self.SHORT, "--workers", 2, "--set", "train.seed=99", seconds=200)
        self.assertNotEqual(first["model_checksum"], second["model_checksum"])

    def test_one_gossiping_worker_is_plain_sgd(self):
        gossip = self.twice("--workers", 1)
        plain = self.result("-f", EXAMPLE, *self.SHORT, "--workers", 1, "--set", "exchange.algorithm=none", seconds=200)
        self.assertEqual(gossip["model_checksum"], plain["model_checksum"])


class Scaling(ClusterTest):
    def test_every_number_of_workers_trains_the_real_network(self):
        costs = set()
        for workers in (1, 2, 3, 5, 8, 16):
            with self.subTest(workers=workers):
                result = self.result("-f", EXAMPLE, "--workers", workers, "--set", "data.limit_train=8192",
                                     "--set", "data.limit_test=1000", "--set", "train.epochs=1", seconds=200)
                self.assertEqual(result["state"], "Succeeded")
                if workers > 1:
                    costs.add((result["messages_per_step"], result["sent_bytes_per_step"]))
        self.assertEqual(len(costs), 1, costs)


class Accuracy(ClusterTest):
    """Ten epochs of the example job; what docs/benchmarks/convergence.md says of it."""

    def accuracy(self, workers):
        result = self.result("-f", EXAMPLE, "--workers", workers, seconds=600)
        self.assertLessEqual(result["epochs"], 10)
        return 100 * result["test_accuracy"], [100 * value for value in result["replica_accuracy"]]

    def test_four_workers_reach_ninety_percent(self):
        average, replicas = self.accuracy(4)
        self.assertGreaterEqual(average, 90)
        self.assertLessEqual(max(replicas) - min(replicas), 0.3, replicas)

    def test_more_workers_come_close_to_one(self):
        alone, _ = self.accuracy(1)
        # One run each: seeds and processors move a single accuracy by up to 0.2 points either way.
        noise = 0.3
        few = {}
        for workers in (2, 3, 5, 8):
            with self.subTest(workers=workers):
                few[workers], _ = self.accuracy(workers)
                self.assertGreaterEqual(few[workers], alone - 0.5 - noise)
        self.assertGreaterEqual(statistics.fmean(few.values()), alone - 0.5, few)
        many, _ = self.accuracy(16)
        self.assertGreaterEqual(many, alone - 1.5)


if __name__ == "__main__":
    unittest.main()
