# SPDX-License-Identifier: Apache-2.0
"""Damaged data sets and wrong job files: a clear error, exit code 2, nothing left running."""
import gzip
import struct
import unittest

from gg_cluster import ClusterTest

JOB = """\
apiVersion: gossipgrad.dev/v1
kind: TrainingJob
metadata:
  name: idx
spec:
  model: {{name: mlp, hidden: [16]}}
  data: {{format: idx, path: {path}}}
  train: {{epochs: 1, batch_size: 8}}
  workers: {{min: 1, max: 1}}
"""


def images(count, height=6, width=6, magic=0x803, claimed=None):
    body = bytes((i * 7) % 256 for i in range(count * height * width))
    return struct.pack(">IIII", magic, count if claimed is None else claimed, height, width) + body


def labels(count, magic=0x801, claimed=None, value=None):
    body = bytes(i % 10 if value is None else value for i in range(count))
    return struct.pack(">II", magic, count if claimed is None else claimed) + body


class BadData(ClusterTest):
    def write(self, **replace):
        files = {"train-images-idx3-ubyte": images(64), "train-labels-idx1-ubyte": labels(64),
                 "t10k-images-idx3-ubyte": images(32), "t10k-labels-idx1-ubyte": labels(32)}
        folder = self.folder / "data"
        folder.mkdir(exist_ok=True)
        for name, content in files.items():
            content = replace.get(name.split("-idx")[0].replace("-", "_"), content)
            if content is None:
                continue
            path = folder / (name + ".gz")
            path.write_bytes(content if content[:2] == b"\x1f\x8b" or content == b"" else gzip.compress(content))
        job = self.folder / "idx.yaml"
        job.write_text(JOB.format(path=folder))
        return job

    def refused(self, *words, **replace):
        run = self.start("local", "run", "-f", self.write(**replace), "--workers", 2)
        self.assertEqual(run.finish(30), 2, run.stderr())
        for word in words:
            self.assertIn(word, run.stderr())

    def test_sound_files_train(self):
        run = self.start("local", "run", "-f", self.write(), "--workers", 2)
        self.assertEqual(run.finish(60), 0, run.stderr())

    def test_truncated_file(self):
        self.refused("train-images", train_images=images(64)[:-100])

    def test_truncated_gzip(self):
        self.refused("train-images", train_images=gzip.compress(images(64))[:-30])

    def test_flipped_bit_in_gzip(self):
        content = bytearray(gzip.compress(images(64)))
        content[len(content) // 2] ^= 0x10
        self.refused("train-images", train_images=bytes(content))

    def test_wrong_magic(self):
        self.refused("train-images", "magic", train_images=images(64, magic=0x123))

    def test_images_and_labels_differ_in_number(self):
        self.refused("64", "63", train_labels=labels(63))

    def test_count_that_claims_more_than_there_is(self):
        self.refused("t10k-labels", t10k_labels=labels(32, claimed=4000000000))

    def test_label_out_of_range(self):
        self.refused("train-labels", "200", train_labels=labels(64, value=200))

    def test_empty_file(self):
        self.refused("train-images", train_images=b"")

    def test_missing_file(self):
        self.refused("t10k-labels", t10k_labels=None)

    def test_empty_folder(self):
        (self.folder / "data").mkdir()
        job = self.folder / "idx.yaml"
        job.write_text(JOB.format(path=self.folder / "data"))
        run = self.start("local", "run", "-f", job, "--workers", 2)
        self.assertEqual(run.finish(30), 2, run.stderr())
        self.assertIn("train-images", run.stderr())

    def test_missing_folder(self):
        job = self.folder / "idx.yaml"
        job.write_text(JOB.format(path="/nonexistent/folder"))
        run = self.start("local", "run", "-f", job, "--workers", 2)
        self.assertEqual(run.finish(30), 2, run.stderr())
        self.assertIn("/nonexistent/folder", run.stderr())


class BadJobFile(ClusterTest):
    def test_five_mistakes_are_all_reported_with_line_and_suggestion(self):
        path = self.folder / "bad.yaml"
        path.write_text("""\
apiVersion: gossipgrad.dev/v1
kind: TrainingJob
metadata:
  name: Bad Name
spec:
  model: {name: lenett}
  data: {format: synthetic}
  train: {epochs: many, batch_size: -3}
  exchange:
    shedule: hypercube
""")
        run = self.start("local", "run", "-f", path)
        self.assertEqual(run.finish(20), 2, run.stderr())
        text = run.stderr()
        for place in ("bad.yaml:4:", "bad.yaml:6:", "bad.yaml:8:", "bad.yaml:10:"):
            self.assertIn(place, text)
        for word in ("lenet", "schedule", "epochs", "batch_size", "metadata.name"):
            self.assertIn(word, text)

    def test_hypercube_refuses_six_workers(self):
        run = self.start("local", "run", "-f", self.job(), "--workers", 6, "--set", "exchange.schedule=hypercube")
        self.assertEqual(run.finish(20), 2, run.stderr())
        self.assertIn("power of two", run.stderr())

    def test_missing_job_file(self):
        run = self.start("local", "run", "-f", self.folder / "none.yaml")
        self.assertEqual(run.finish(20), 2, run.stderr())
        self.assertIn("none.yaml", run.stderr())

    def test_unknown_override_suggests(self):
        run = self.start("local", "run", "-f", self.job(), "--set", "exchange.overlapp=step")
        self.assertEqual(run.finish(20), 2, run.stderr())
        self.assertIn("exchange.overlap", run.stderr())


if __name__ == "__main__":
    unittest.main()
