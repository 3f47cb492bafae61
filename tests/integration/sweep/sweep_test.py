"""A sweep survives the crash of one run, can be stopped, and continues.

Usage: sweep_test.py HEELSTRIKE SCENARIO OUTPUT_FOLDER
"""
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import unittest

from waiting import wait_for

program, scenario, output = sys.argv[1:4]
failed_code, interrupted_code = 3, 130
endless = '100000'  # [s] of simulated time: takes minutes; it is killed or stopped long before


def sweep_command(values):
    return [program, 'sweep', scenario, '--vary', f'analysis.end_time={values}', '--set',
            'analysis.budget.rows=200000000', '--jobs', '2', '-o', output]


def children(parent):
    """Process numbers and command lines of the children of a process."""
    found = []
    for entry in os.listdir('/proc'):
        if not entry.isdigit():
            continue
        try:
            with open(f'/proc/{entry}/stat') as stat:
                if int(stat.read().rsplit(')', 1)[1].split()[1]) != parent:
                    continue
            with open(f'/proc/{entry}/cmdline') as line:
                found.append((int(entry), line.read().split('\0')))
        except OSError:
            continue  # ended in the meantime
    return found


def alive(pid):
    """A zombie that has not been reaped counts as terminated."""
    try:
        with open(f'/proc/{pid}/stat') as stat:
            return stat.read().rsplit(')', 1)[1].split()[0] != 'Z'
    except OSError:
        return False


def endless_run(sweep):
    """The worker of the endless run, once it is writing its folder, running/KEY.HOST-PID-START."""
    workers = {pid for pid, _ in children(sweep.pid)}
    for rows in glob.glob(output + '/running/*/timeseries.csv'):
        run = os.path.dirname(rows)
        with open(run + '/scenario.yaml') as scenario_of_run:
            pid = int(run.split('-')[-2])
            if f'end_time: {endless}' in scenario_of_run.read() and pid in workers:
                return pid
    return None


def folder_of(value):
    names = [name for name in os.listdir(output) if os.path.isdir(os.path.join(output, name)) and name.endswith(value)]
    return os.path.join(output, names[0]) if names else os.path.join(output, 'none')


def is_complete(value):
    folder = folder_of(value)
    return os.path.exists(os.path.join(folder, 'summary.json')) and not os.path.exists(os.path.join(folder, 'INCOMPLETE'))


def rows():
    with open(os.path.join(output, 'comparison.json')) as file:
        return {row['backend']: row for row in json.load(file)['rows']}


def written(value):
    return os.stat(os.path.join(folder_of(value), 'summary.json')).st_mtime_ns


class Sweep(unittest.TestCase):
    def start(self, values):
        sweep = subprocess.Popen(sweep_command(values), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        # A failed test leaves no processes behind: the sweep ends its runs on request.
        self.addCleanup(lambda: sweep.poll() is not None or (sweep.send_signal(signal.SIGINT), sweep.communicate(timeout=300)))
        return sweep

    def test_it_survives_resumes_and_ends_in_a_page(self):
        values = f'0.5,0.6,{endless}'
        sweep = self.start(values)
        wait_for('complete runs', lambda: is_complete('0.5') and is_complete('0.6'))
        os.kill(wait_for('endless run', lambda: endless_run(sweep)), signal.SIGSEGV)
        _, complaints = sweep.communicate(timeout=300)
        self.assertEqual(sweep.returncode, failed_code, complaints)
        self.assertIn('signal 11', complaints)
        after_kill = rows()
        self.assertEqual(len(after_kill), 3, after_kill.keys())
        self.assertEqual(sorted(row['status'] for row in after_kill.values()), ['completed', 'completed', 'failed'])

        # The same command repeats the lost run and keeps the others; then its user stops it.
        before = written('0.5'), written('0.6')
        sweep = self.start(values)
        wait_for('endless run', lambda: endless_run(sweep))
        sweep.send_signal(signal.SIGINT)
        _, complaints = sweep.communicate(timeout=300)
        self.assertEqual(sweep.returncode, interrupted_code, complaints)
        self.assertRegex(complaints, 'heelstrike resume .* continues the sweep')
        self.assertEqual((written('0.5'), written('0.6')), before)

        # A sweep without an endless run completes with the two existing runs and a new one.
        done = subprocess.run(sweep_command('0.5,0.6,0.7'), capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((written('0.5'), written('0.6')), before)
        self.assertEqual({row['status'] for row in rows().values()}, {'completed'})
        self.assertEqual(len(rows()), 3)
        with open(os.path.join(output, 'report.html')) as page:
            text = page.read()
        for name in rows():
            self.assertIn(name, text)


    def test_killed_sweep_ends_its_runs_and_is_resumed(self):
        expected, killed, moved = output + '-expected', output + '-killed', output + '-moved'
        for folder in (expected, killed, moved):
            shutil.rmtree(folder, ignore_errors=True)

        def command(folder):
            return [program, 'sweep', scenario, '--vary', 'contact.restitution=0.4,0.8', '--set', 'analysis.end_time=3',
                    '--set', 'output.checkpoint_period=1e-3', '--jobs', '2', '--quiet', '-o', folder]

        subprocess.run(command(expected), check=True, capture_output=True, timeout=300)
        sweep = subprocess.Popen(command(killed), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        runs = wait_for('checkpoint', lambda: glob.glob(killed + '/running/*/checkpoints/*.ckpt') and children(sweep.pid))
        sweep.kill()
        sweep.wait()
        wait_for('end of its runs', lambda: not any(alive(pid) for pid, _ in runs))
        os.rename(killed, moved)
        resumed = subprocess.run([program, 'resume', moved], capture_output=True, text=True, timeout=300)
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        logs = ''
        for log in glob.glob(moved + '/*/run.log'):
            with open(log) as file:
                logs += file.read()
        self.assertIn('resumed from step_', logs)
        for table in glob.glob(expected + '/*/timeseries.csv'):
            with open(table, 'rb') as a, open(table.replace(expected, moved), 'rb') as b:
                self.assertTrue(a.read() == b.read(), table)


if __name__ == '__main__':
    shutil.rmtree(output, ignore_errors=True)
    os.makedirs(output)
    unittest.main(argv=[sys.argv[0]], verbosity=2)
