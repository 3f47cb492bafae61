"""What watching costs a run: the same run on the same server, alone and with a page that looks and pages that do not read.

Usage: bench_watch.py BIN_FOLDER SCENARIO OUTPUT_FOLDER
Prints CPU time of the run's own thread and the wall time of the run, with and without, and their ratios. On a machine with few
cores the ratio of wall times contains what client, page and servers take from each other.
"""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

bin_folder, scenario, output = sys.argv[1:4]
rounds = 4
# About a second of computing.
settings = ['analysis.end_time=12', 'output.interval=1e-4', 'contact.restitution=0.95']


def start(name, *arguments):
    return subprocess.Popen([os.path.join(bin_folder, name), *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True)


def wait_for_line(process, pattern):
    for line in process.stdout:
        found = re.search(pattern, line)
        if found:
            # Whoever is not read would wait some day.
            threading.Thread(target=process.stdout.read, daemon=True).start()
            return found
    raise AssertionError(f'expected {pattern} from {process.args[0]}, found its end')


def cpu_times(pid):
    """Nanoseconds that each thread has computed."""
    times = {}
    for thread in os.listdir(f'/proc/{pid}/task'):
        try:
            with open(f'/proc/{pid}/task/{thread}/schedstat') as file:
                times[thread] = int(file.read().split()[0])
        except OSError:
            continue  # ended in the meantime
    return times


class Watchers:
    """A page that asks every 0.4 s, as the real one does, and two that ask and never read the answer."""

    def __init__(self, url):
        self.port = int(url.split(':')[2].split('/')[0])
        self.stop = threading.Event()
        self.answers = 0
        self.thread = threading.Thread(target=self.look)

    def get(self, path):
        with urllib.request.urlopen(f'http://127.0.0.1:{self.port}{path}', timeout=5) as answer:
            return answer.read()

    def look(self):
        deaf = []
        while not self.stop.is_set():
            for run in json.loads(self.get('/api/runs'))['runs']:
                if run['state']['state'] != 'running':
                    continue
                self.get(f"/api/runs/{run['id']}")
                self.answers += 1
                for _ in range(max(0, 2 - len(deaf))):
                    page = socket.create_connection(('127.0.0.1', self.port))
                    page.sendall(f"GET /api/runs/{run['id']} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n\r\n".encode())
                    deaf.append(page)
            self.stop.wait(0.4)
        for page in deaf:
            page.close()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()


def run_once(mbs_address, server):
    """CPU time of the run's thread [s] and wall time of the run [s]."""
    folder = os.path.join(output, 'run')
    before = cpu_times(server.pid)
    arguments = [os.path.join(bin_folder, 'heelstrike'), 'run', scenario, '--mbs', mbs_address, '--quiet', '--force',
                 '-o', folder]
    for setting in settings:
        arguments += ['--set', setting]
    client = subprocess.Popen(arguments, stdout=subprocess.DEVNULL)
    most = 0
    while client.poll() is None:
        # The run's thread is the one that computes most.
        most = max([most] + [t - before.get(thread, 0) for thread, t in cpu_times(server.pid).items()])
        time.sleep(0.002)
    assert client.returncode == 0, client.returncode
    with open(os.path.join(folder, 'summary.json')) as file:
        return most * 1e-9, json.load(file)['wall_time_s']


def main():
    shutil.rmtree(output, ignore_errors=True)
    os.makedirs(output)
    with tempfile.TemporaryDirectory(prefix='heelstrike-watch-') as sockets:
        fem, mbs = f'unix:{sockets}/fem.sock', f'unix:{sockets}/mbs.sock'
        programs = [start('fem_server', '--listen', fem)]
        try:
            wait_for_line(programs[0], 'event=listening')
            programs.append(start('mbs_server', '--listen', mbs, '--fem', fem, '--spool', f'{sockets}/spool'))
            wait_for_line(programs[1], 'event=listening')
            programs.append(start('heelstrike', 'watch', mbs, '--web'))
            url = wait_for_line(programs[2], r'at (http:\S+)').group(1)
            measure(mbs, programs[1], url)
        finally:
            for program in reversed(programs):
                program.terminate()
                program.wait(20)


def measure(mbs, server, url):
    alone, watched = [], []
    for number in range(1, rounds + 1):
        alone.append(run_once(mbs, server))
        with Watchers(url) as watchers:
            watched.append(run_once(mbs, server))
        assert watchers.answers > 0, 'nobody watched'
        # Whatever else the machine does only adds: the smallest values are those of the programs themselves.
        cpu = min(c for c, _ in watched) / min(c for c, _ in alone)
        wall = min(w for _, w in watched) / min(w for _, w in alone)
        print(f'{number} rounds: run alone {min(c for c, _ in alone):.3f} s CPU, {min(w for _, w in alone):.3f} s wall; '
              f'watched {min(c for c, _ in watched):.3f} s CPU, {min(w for _, w in watched):.3f} s wall; '
              f'ratios {cpu:.4f}, {wall:.4f}', flush=True)


if __name__ == '__main__':
    main()
