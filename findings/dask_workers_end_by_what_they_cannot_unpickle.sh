#!/bin/bash
# Dask's distributed 2026.8.0: an argument whose unpickling raises in the worker, as that of a file which is not on its
# machine, is no error of the task. The worker ends while it reads the message; the task goes to the next one, which
# ends, too; and the caller waits for ever.
. "$(dirname "$0")/environment" "$(mktemp -d)"
install "distributed==2026.8.0" "dask==2026.8.0"
shows "result: TimeoutError; the first workers are still there: False" <<'PROGRAM'
import logging
import os
from distributed import Client, LocalCluster

def opened(process):
    if os.getpid() != process:
        raise FileNotFoundError("it is not on this machine")
    return Here()

class Here:
    def __reduce__(self):
        return opened, (os.getpid(),)

if __name__ == "__main__":
    with (LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None,
                       silence_logs=logging.CRITICAL) as cluster, Client(cluster) as client):
        before = set(client.run(os.getpid).values())
        future = client.submit(len, [Here()])
        try:
            found = future.result(timeout=15)
        except Exception as error:
            found = type(error).__name__
        future.cancel()
        now = set(client.run(os.getpid).values())
    print(f"result: {found}; the first workers are still there: {bool(before & now)}")
PROGRAM
