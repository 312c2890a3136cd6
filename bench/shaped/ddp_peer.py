# SPDX-License-Identifier: Apache-2.0
"""One rank of PyTorch DistributedDataParallel with the model, data and rates of a job. Started by ddp.py.

With --steps it times steps, first without any communication (the floor), then with; with --epochs it trains until the test
accuracy reaches --target. The clock stands still while it evaluates, as it does in the job's own results.
"""
import argparse
import gzip
import json
import math
import pathlib
import struct
import time

import numpy
import torch
import torch.distributed as dist
from torch import nn

WARM_UP_STEPS = 5


def read_idx(folder, name):
    path = pathlib.Path(folder) / name
    data = gzip.open(f"{path}.gz").read() if not path.exists() else path.read_bytes()
    dims = struct.unpack(f">{data[3]}I", data[4:4 + 4 * data[3]])
    return numpy.frombuffer(data, numpy.uint8, offset=4 + 4 * data[3]).reshape(dims)


def load(spec, part):
    """Images, normalised as the job has them, and labels."""
    images = torch.from_numpy(read_idx(spec["path"], f"{part}-images-idx3-ubyte").copy())
    labels = torch.from_numpy(read_idx(spec["path"], f"{part}-labels-idx1-ubyte").astype(numpy.int64))
    return images, labels


def pixels(images, spec):
    return ((images.unsqueeze(1).float() / 255) - spec["mean"]) / spec["stddev"]


def lenet():
    """worker/nn/models/lenet.cc"""
    return nn.Sequential(nn.Conv2d(1, 20, 5), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(800, 500),
                         nn.ReLU(), nn.Linear(500, 10))


def rate_at(rate, step, steps_per_epoch, total, world):
    """worker/optim/learning_rate.cc for the policies constant and cosine."""
    scaled = rate["base"] * {"none": 1, "linear": world, "sqrt": math.sqrt(world)}[rate["scaling"]]
    if rate["max_scaled"] > 0:
        scaled = min(scaled, rate["max_scaled"])
    warm_up = round(rate["warmup_epochs"] * steps_per_epoch)
    ramp = (step + 1) / warm_up if step < warm_up else 1
    factor = {"constant": 1, "cosine": (1 + math.cos(math.pi * step / total)) / 2}[rate["policy"]]
    return scaled * ramp * factor


class Peer:
    def __init__(self, args):
        self.args = args
        self.spec = json.loads(args.spec)
        self.data = self.spec["data"]
        torch.manual_seed(self.spec["train"]["seed"])
        self.model = nn.parallel.DistributedDataParallel(lenet())
        optimizer = self.spec["optimizer"]
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0, momentum=optimizer["momentum"],
                                         weight_decay=optimizer["weight_decay"])
        images, labels = load(self.data, "train")
        self.images, self.labels = images[args.rank::args.world], labels[args.rank::args.world]
        self.batch = self.spec["train"]["batch_size"]
        self.steps_per_epoch = -(-(-(-len(images) // args.world)) // self.batch)
        self.order = torch.Generator().manual_seed(self.spec["train"]["seed"] * 1000 + args.rank)
        self.permutation = None

    def step(self, step, total):
        at = step % self.steps_per_epoch
        if at == 0 or self.permutation is None:
            self.permutation = torch.randperm(len(self.images), generator=self.order)
        # The last batch of an epoch is filled up from the beginning.
        chosen = self.permutation[torch.arange(at * self.batch, (at + 1) * self.batch) % len(self.permutation)]
        for group in self.optimizer.param_groups:
            group["lr"] = rate_at(self.spec["learning_rate"], step, self.steps_per_epoch, total, self.args.world)
        self.optimizer.zero_grad()
        loss = nn.functional.cross_entropy(self.model(pixels(self.images[chosen], self.data)), self.labels[chosen])
        loss.backward()
        self.optimizer.step()

    def timed(self, steps):
        for step in range(WARM_UP_STEPS):
            self.step(step, steps)
        dist.barrier()
        begin = time.monotonic()
        for step in range(steps):
            self.step(step, steps)
        seconds = torch.tensor([time.monotonic() - begin])
        dist.all_reduce(seconds, op=dist.ReduceOp.MAX)
        return seconds.item() / steps

    def time_steps(self):
        steps = self.args.steps
        with self.model.no_sync():
            floor = self.timed(steps)
        step = self.timed(steps)
        return {"step_seconds": step, "floor_seconds": floor, "exposed": max(0.0, 1 - floor / step),
                "samples_per_second": self.batch * self.args.world / step}

    def accuracy(self, images, labels):
        self.model.eval()
        correct = 0
        with torch.no_grad():
            for at in range(0, len(images), 1000):
                scores = self.model.module(pixels(images[at:at + 1000], self.data))
                correct += (scores.argmax(1) == labels[at:at + 1000]).sum().item()
        self.model.train()
        counts = torch.tensor([correct, len(images)])
        dist.all_reduce(counts)
        return counts[0].item() / counts[1].item()

    def train(self):
        images, labels = load(self.data, "t10k")
        images, labels = images[self.args.rank::self.args.world], labels[self.args.rank::self.args.world]
        total = self.steps_per_epoch * self.args.epochs
        seconds, reached, accuracy = 0.0, None, 0.0
        for epoch in range(1, self.args.epochs + 1):
            dist.barrier()
            begin = time.monotonic()
            for step in range((epoch - 1) * self.steps_per_epoch, epoch * self.steps_per_epoch):
                self.step(step, total)
            dist.barrier()
            seconds += time.monotonic() - begin
            accuracy = self.accuracy(images, labels)
            if accuracy >= self.args.target:
                reached = {"epochs": epoch, "seconds": seconds}
                break
        return {"reached": reached, "accuracy": accuracy}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rank", type=int, required=True)
    parser.add_argument("--world", type=int, required=True)
    parser.add_argument("--master", required=True)
    parser.add_argument("--spec", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--target", type=float, default=0.88)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://{args.master}", rank=args.rank, world_size=args.world)
    peer = Peer(args)
    result = peer.time_steps() if args.steps else peer.train()
    if args.rank == 0:
        pathlib.Path(args.out).write_text(json.dumps(result))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
