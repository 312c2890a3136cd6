#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# watchdog_test.sh PROGRAM: a fuzz program that gets stuck ends with status 3 and prints its input and how to repeat it.
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
printf stuck >"$folder/seed"
said=$(timeout --signal=KILL 50 "$1" --input-seconds=1 "$folder" 2>&1)
status=$?
printf '%s\n' "$said"
[ "$status" -eq 3 ] || { echo "status $status, not 3"; exit 1; }
printf '%s\n' "$said" | grep -q -- '--only=0' || { echo "does not say how to repeat the run"; exit 1; }
printf '%s\n' "$said" | grep -q 'input: 737475636b$' || { echo "does not print the input"; exit 1; }
