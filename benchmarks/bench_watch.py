"""Cost of watching a run: the same run on the same server, alone and with one polling page and two pages that do not read.

Usage: bench_watch.py BIN_FOLDER SCENARIO OUTPUT_FOLDER [SIMULATED_SECONDS]
Prints CPU time of the run's thread, of the other threads of the multibody server and of the watching program, and the wall
time of the run, with and without. On a machine with few cores the ratio of wall times includes the competition of client,
page and servers for processors.
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
end_time = sys.argv[4] if len(sys.argv) > 4 else '12'
rounds = 4
settings = [f'analysis.end_time={end_time}', 'output.interval=1e-4', 'contact.restitution=0.95']


def start(name, *arguments):
    return subprocess.Popen([os.path.join(bin_folder, name), *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True)


def wait_for_line(process, pattern):
    for line in process.stdout:
        found = re.search(pattern, line)
        if found:
            # An unread pipe would eventually block the process.
            threading.Thread(target=process.stdout.read, daemon=True).start()
            return found
    raise AssertionError(f'expected {pattern} from {process.args[0]}, found its end')


def cpu_times(pid):
    """Processor time of each thread [ns]."""
    times = {}
    for thread in os.listdir(f'/proc/{pid}/task'):
        try:
            with open(f'/proc/{pid}/task/{thread}/schedstat') as file:
                times[thread] = int(file.read().split()[0])
        except OSError:
            continue  # ended in the meantime
    return times


class Watchers:
    """A page that polls every 0.4 s, like the real one, and two that never read the response."""

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


def run_once(mbs_address, server, watch):
    """CPU times of the run's thread, of the rest of its server and of the watching program, wall time of the run [s]."""
    folder = os.path.join(output, 'run')
    before = cpu_times(server.pid)
    watch_before = sum(cpu_times(watch.pid).values())
    arguments = [os.path.join(bin_folder, 'heelstrike'), 'run', scenario, '--mbs', mbs_address, '--quiet', '--force',
                 '-o', folder]
    for setting in settings:
        arguments += ['--set', setting]
    client = subprocess.Popen(arguments, stdout=subprocess.DEVNULL)
    used = {}
    while client.poll() is None:
        for thread, t in cpu_times(server.pid).items():
            used[thread] = t - before.get(thread, 0)
        time.sleep(0.01)
    most = max(used.values())  # the run's thread computes most
    rest = sum(used.values()) - most
    watching = sum(cpu_times(watch.pid).values()) - watch_before
    assert client.returncode == 0, client.returncode
    with open(os.path.join(folder, 'timing.json')) as file:
        return most * 1e-9, rest * 1e-9, watching * 1e-9, json.load(file)['wall_time_s']


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
            measure(mbs, programs[1], programs[2], url)
        finally:
            for program in reversed(programs):
                program.terminate()
                program.wait(20)


def measure(mbs, server, watch, url):
    alone, watched = [], []
    for number in range(1, rounds + 1):
        alone.append(run_once(mbs, server, watch))
        with Watchers(url) as watchers:
            watched.append(run_once(mbs, server, watch))
        assert watchers.answers > 0, 'no watcher was served'
        # Other work on the machine only adds time: the minima are used.
        a = [min(values) for values in zip(*alone)]
        w = [min(values) for values in zip(*watched)]
        for name, (run, rest, watching, wall) in (('alone', a), ('watched', w)):
            print(f'{number} rounds, {name}: CPU of the run {run:.3f} s, of the rest of its server {rest:.3f} s, of watch '
                  f'{watching:.3f} s; wall {wall:.3f} s')
        print(f'{number} rounds: watching adds {100 * (w[0] - a[0]) / a[3]:.2f} % of the wall time as CPU of the run\'s thread, '
              f'{100 * (w[1] - a[1]) / a[3]:.2f} % in its server, {100 * (w[2] - a[2]) / a[3]:.2f} % in watch; '
              f'wall {100 * (w[3] / a[3] - 1):.1f} %', flush=True)


if __name__ == '__main__':
    main()
