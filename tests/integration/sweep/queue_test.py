"""The folder of a sweep as its queue: workers by hand, by a command and by Slurm; workers that are killed, suspended, of
another version or of another plan; damaged results.

Usage: queue_test.py HEELSTRIKE SCENARIO OUTPUT_FOLDER SLURM_HERE
"""
import contextlib
import csv
import glob
import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import unittest

import yaml

from waiting import wait_for

program, scenario, output, slurm_here = sys.argv[1:5]
bad_input, unavailable, file_code, version_code = 2, 4, 5, 6
skipped_without_slurm = 'skipped: no Slurm here (scripts/setup --group cluster, as root)'


def read(path):
    with open(path, 'rb') as file:
        return file.read()


def write(path, text):
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)


def events(folder):
    found = []
    for log in glob.glob(folder + '/results/*.jsonl'):
        for line in read(log).decode().split('\n')[:-1]:  # the last one may be in the course of being written
            found.append(json.loads(line))
    return found


def table(folder):
    with open(folder + '/comparison.csv', newline='', encoding='utf-8') as file:
        return list(csv.DictReader(file))


def results(folder):
    """What a run computes, without wall times, by point."""
    found = {}
    for row in table(folder):
        run = os.path.join(folder, row['folder'])
        found[row['backend']] = (row['status'], row.get('max_force_N'), read(run + '/timeseries.csv'), read(run + '/summary.json'))
    return found


class Queue(unittest.TestCase):
    def folder(self, name):
        path = os.path.join(output, name)
        shutil.rmtree(path, ignore_errors=True)
        return path

    def sweep(self, folder, *options, vary='contact.restitution=0.2:0.9:0.1', set_='analysis.end_time=2', code=0, of=None, **more):
        done = subprocess.run([program, 'sweep', of or scenario, '--vary', vary, '--set', set_, '--quiet', '-o', folder, *options],
                              capture_output=True, text=True, timeout=300, check=False, **more)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def worker(self, folder, *options):
        worker = subprocess.Popen([program, 'sweep', '--worker', folder, *options], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: worker.poll() is not None or (worker.kill(), worker.wait()))
        self.addCleanup(lambda: (worker.stdout.close(), worker.stderr.close()))
        return worker

    def assert_same(self, folder, expected):
        """The table has each run once, and results have the bytes of a sweep on one core."""
        found = results(folder)
        self.assertEqual(len(table(folder)), len(found), 'a run is twice in the table')
        self.assertEqual(found.keys(), expected.keys())
        for point, result in expected.items():
            self.assertTrue(found[point] == result, point)
        ended = [event['run'] for event in events(folder) if event['event'] == 'ended']
        self.assertEqual(len(ended), len(set(ended)), ended)
        self.assertEqual(glob.glob(folder + '/running/*'), [])

    def test_workers_by_hand_give_the_bytes_of_a_local_sweep(self):
        local, folder = self.folder('local'), self.folder('by_hand')
        self.sweep(local, '--jobs', '1')
        planned = self.sweep(folder, '--on', 'none').stdout
        command = shlex.split(planned.splitlines()[-1])
        self.assertEqual(json.loads(subprocess.run([program, 'sweep', 'status', folder, '--json'], capture_output=True,
                                                   check=True).stdout)['ended'], 0)
        self.assertIn('no worker is active', subprocess.run([program, 'sweep', 'explain', folder, '3'], capture_output=True,
                                                            text=True, check=True).stdout)
        workers = [subprocess.Popen(command) for _ in range(2)]
        for worker in workers:
            self.assertEqual(worker.wait(timeout=300), 0)
        self.assert_same(folder, results(local))
        self.assertTrue(os.path.exists(folder + '/report.html'), 'the last worker writes the tables')
        self.assertRegex(subprocess.run([program, 'sweep', 'explain', folder, '3'], capture_output=True, text=True,
                                        check=True).stdout, 'completed +in .* s by worker')
        planned = read(folder + '/plan.jsonl').splitlines()[1:]
        recorded = [line for log in glob.glob(folder + '/results/*.jsonl') for line in read(log).splitlines()]
        self.assertLess(sum(map(len, planned + recorded)) / len(planned), 1000, 'bytes of bookkeeping a run')

    def test_kills_at_random_instants_lose_nothing(self):
        local, folder = self.folder('local_long'), self.folder('killed')
        settings = {'set_': 'analysis.end_time=20', 'vary': 'contact.restitution=0.3:0.74:0.04'}
        self.sweep(local, '--jobs', '2', '--set', 'output.checkpoint_period=0.05', **settings)
        self.sweep(folder, '--on', 'none', '--set', 'output.checkpoint_period=0.05', **settings)
        instants = random.Random(20)
        workers = [self.worker(folder, '--tables') for _ in range(2)]
        for kill in range(20):
            time.sleep(instants.uniform(0.05, 0.6))  # the instant of the kill, not a condition
            victim = instants.randrange(2)
            workers[victim].kill()
            workers[victim].wait()
            workers[victim] = self.worker(folder, '--tables')
        for worker in workers:
            self.assertEqual(worker.wait(timeout=300), 0, worker.stderr.read())
        self.assertTrue(os.path.exists(folder + '/comparison.csv'))
        self.assert_same(folder, results(local))

    def test_damaged_results_are_computed_again(self):
        folder = self.folder('damaged')
        self.sweep(folder, '--jobs', '1')
        expected = results(folder)
        # A line with a changed digit, a truncated file, and a run folder that lost half of its summary.
        log = max(glob.glob(folder + '/results/*.jsonl'), key=os.path.getsize)
        lines = read(log).decode().splitlines(keepends=True)
        lines[1] = lines[1].replace('"max_force_N":', '"max_force_N":9', 1)
        write(log, ''.join(lines)[:-40])
        summary = os.path.join(folder, json.loads(lines[3])['folder'], 'summary.json')
        write(summary, read(summary).decode()[:100])
        before = {row['backend']: os.stat(os.path.join(folder, row['folder'], 'summary.json')).st_mtime_ns
                  for row in table(folder)}
        self.sweep(folder, '--jobs', '1')
        self.assert_same(folder, expected)
        after = {row['backend']: os.stat(os.path.join(folder, row['folder'], 'summary.json')).st_mtime_ns
                 for row in table(folder)}
        self.assertEqual(sum(before[name] != after[name] for name in before), 3, 'the others are kept')

    def test_damaged_line_is_computed_again_by_a_worker(self):
        folder = self.folder('damaged_line')
        self.sweep(folder, '--on', 'none')
        worker = self.worker(folder)
        self.assertEqual(worker.wait(timeout=300), 0, worker.stderr.read())
        log = max(glob.glob(folder + '/results/*.jsonl'), key=os.path.getsize)
        write(log, read(log).decode()[:-40])
        worker = self.worker(folder, '--tables')
        self.assertEqual(worker.wait(timeout=300), 0, worker.stderr.read())
        self.assertEqual(len(results(folder)), 8)

    def test_suspended_worker_is_replaced_and_discards_its_result(self):
        folder = self.folder('suspended')
        self.sweep(folder, '--on', 'none', vary='contact.restitution=0.5', set_='analysis.end_time=60')
        first = self.worker(folder, '--lease', '0.5')
        wait_for('run in progress', lambda: glob.glob(folder + '/running/*/timeseries.csv'))
        first.send_signal(signal.SIGSTOP)
        second = self.worker(folder, '--lease', '0.5', '--tables')
        wait_for('takeover', lambda: any(event['event'] == 'lost' for event in events(folder)))
        self.assertEqual(second.wait(timeout=300), 0, second.stderr.read())
        first.send_signal(signal.SIGCONT)
        self.assertEqual(first.wait(timeout=300), 0)
        self.assertIn('discarded', first.stderr.read())
        self.assertEqual([row['status'] for row in table(folder)], ['completed'])
        self.assertEqual(glob.glob(folder + '/running/*'), [])

    def test_a_crash_is_a_row_with_its_signal_and_six_kills_too(self):
        for sent, times, said in ((signal.SIGSEGV, 1, 'signal 11'), (signal.SIGKILL, 6, 'signal 9.*so did the 5 before it')):
            folder = self.folder(f'crash_{sent}')
            command = [program, 'sweep', scenario, '--vary', 'analysis.end_time=0.5,100000', '--set',
                       'analysis.budget.rows=200000000', '--jobs', '2', '-o', folder]
            sweep = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.addCleanup(lambda s=sweep: s.poll() is not None or (s.send_signal(signal.SIGINT), s.communicate()))
            killed = set()
            # A worker that is killed before it has claimed the run again has not lost it.
            while True:
                def victim():
                    if sweep.poll() is not None or sum(event['event'] == 'lost' for event in events(folder)) >= times:
                        return 'ended'
                    for run in glob.glob(folder + '/running/*/timeseries.csv'):
                        if run not in killed and b'100000' in read(os.path.dirname(run) + '/scenario.yaml'):
                            return run
                    return None
                run = wait_for('endless run or end', victim)
                if run == 'ended':
                    break
                killed.add(run)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(run.split('/')[-2].split('-')[-2]), sent)
            _, complaints = sweep.communicate(timeout=300)
            self.assertEqual(sweep.returncode, 3, complaints)
            self.assertRegex(complaints, said)
            self.assertEqual(sum(event['event'] == 'lost' for event in events(folder)), times)
            self.assertEqual(sorted(row['status'] for row in table(folder)), ['completed', 'failed'])
            failed = [row for row in table(folder) if row['status'] == 'failed']
            self.assertTrue(os.path.exists(os.path.join(folder, failed[0]['folder'], 'run.log')), failed)

    def test_a_run_that_is_stopped_again_and_again_without_a_checkpoint_fails(self):
        folder = self.folder('walltimes')
        # At rest there is no point from which a run can go on with the same bits.
        self.sweep(folder, '--on', 'none', '--set', 'analysis.budget.rows=200000000', vary='contact.restitution=0.1',
                   set_='analysis.end_time=100000')

        def is_at_rest():
            for rows in glob.glob(folder + '/running/*/timeseries.csv'):
                last = read(rows).rsplit(b'\n', 2)[-2:]
                if last[0][:1].isdigit() and float(last[0].split(b',')[0]) > 15.0:
                    return True
            return False

        for stop in range(6):
            worker = self.worker(folder)
            wait_for('ball at rest', is_at_rest)
            worker.send_signal(signal.SIGTERM)
            self.assertEqual(worker.wait(timeout=300), 130, worker.stderr.read())
            for rows in glob.glob(folder + '/running/*/timeseries.csv'):
                os.remove(rows)  # else the next worker is seen at rest before it begins
        explained = subprocess.run([program, 'sweep', 'explain', folder, '1'], capture_output=True, text=True, check=True).stdout
        self.assertIn('stopped 6 times before it reached a checkpoint', explained)
        self.assertEqual(sum(event['event'] == 'ended' for event in events(folder)), 1)

    def test_other_plans_versions_and_inputs_are_rejected(self):
        folder = self.folder('refused')
        copy = os.path.join(output, 'copy.yaml')
        shutil.copy(scenario, copy)
        self.sweep(folder, '--on', 'none', vary='contact.restitution=0.5', set_='analysis.end_time=60')
        worker = self.worker(folder)
        wait_for('run in progress', lambda: glob.glob(folder + '/running/*/timeseries.csv'))
        other = self.sweep(folder, vary='contact.restitution=0.6', code=file_code)
        self.assertIn('1 workers of another plan', other.stderr)
        worker.send_signal(signal.SIGTERM)
        self.assertEqual(worker.wait(timeout=300), 130)
        plan = read(folder + '/plan.jsonl').decode()
        write(folder + '/plan.jsonl', re.sub('"version":"[^"]*"', '"version":"0.0.1"', plan))
        newer = subprocess.run([program, 'sweep', '--worker', folder], capture_output=True, text=True, check=False)
        self.assertEqual(newer.returncode, version_code, newer.stderr)
        self.assertIn('0.0.1', newer.stderr)
        write(folder + '/plan.jsonl', plan[:-20])
        short = subprocess.run([program, 'sweep', '--worker', folder], capture_output=True, text=True, check=False)
        self.assertEqual(short.returncode, file_code, short.stderr)
        self.assertIn('0 of 1 lines', short.stderr)
        changed = self.folder('changed')
        subprocess.run([program, 'sweep', copy, '--vary', 'contact.restitution=0.5', '--on', 'none', '-o', changed],
                       check=True, capture_output=True)
        with open(copy, 'a', encoding='utf-8') as file:
            file.write('# changed\n')
        refused = subprocess.run([program, 'sweep', '--worker', changed], capture_output=True, text=True, check=False)
        self.assertEqual(refused.returncode, bad_input, refused.stderr)
        self.assertIn('found a changed one', refused.stderr)

    def test_a_command_starts_the_workers(self):
        local, folder = self.folder('local_2'), self.folder('command')
        self.sweep(local, '--jobs', '1')
        self.sweep(folder, '--on', 'command', '--command', 'WORKER={n} exec env {}', '--jobs', '2')
        self.assert_same(folder, results(local))
        self.assertIn("found ''", self.sweep(folder, '--on', 'command', code=bad_input).stderr)
        broken = self.sweep(self.folder('broken'), '--on', 'command', '--command', 'echo no route to {}; false', code=3)
        self.assertIn('the workers end without a result: no route', broken.stderr)

    def test_varied_files_are_computed_and_a_changed_one_is_noticed(self):
        folder, here = self.folder('files'), os.path.join(output, 'files_scenario')
        os.makedirs(here)
        for name, half in (('small', 0.05), ('large', 0.1)):
            write(f'{here}/{name}.obj', ''.join(f'v {x} {y} {z}\n' for x, y, z in (
                (half, 0, 0), (-half, 0, 0), (0, half, 0), (0, -half, 0), (0, 0, half), (0, 0, -half))) +
                ''.join(f'f {a} {b} {c}\n' for a, b, c in ((1, 3, 5), (3, 2, 5), (2, 4, 5), (4, 1, 5), (3, 1, 6), (2, 3, 6),
                                                          (4, 2, 6), (1, 4, 6))))
        with open(scenario, encoding='utf-8') as file:
            text = yaml.safe_load(file)
        (pair,) = text['contact'].values()
        pair['main']['surface'] = {'mesh': {'file': 'small.obj'}}
        pair['main']['material'] = {'youngs_modulus': 5e6, 'poissons_ratio': 0.45}
        pair.update(backend='elastic_foundation', parameters={'thickness': 5e-3})
        pair.pop('materials', None)
        write(here + '/stone.yaml', yaml.safe_dump(text))
        command = [program, 'sweep', here + '/stone.yaml', '--vary', f'contact.{next(iter(text["contact"]))}.main.surface.mesh.file='
                   'small.obj,large.obj', '--set', 'analysis.end_time=0.05', '--quiet', '-o', folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(len(table(folder)), 2)
        small = read(f'{here}/small.obj').decode()
        write(f'{here}/small.obj', small.replace('0.05', '0.06'))
        worker = subprocess.run([program, 'sweep', '--worker', folder], capture_output=True, text=True, check=False)
        self.assertEqual(worker.returncode, 0, 'all runs have ended: ' + worker.stderr)
        before = results(folder)
        self.assertEqual(subprocess.run(command, capture_output=True, check=False).returncode, 0)
        self.assertNotEqual(before['file=small.obj'][3], results(folder)['file=small.obj'][3])

    def test_damaged_claims_and_results_of_living_workers_do_not_stall(self):
        local, folder = self.folder('local_4'), self.folder('damaged_claims')
        self.sweep(local, '--jobs', '1')
        self.sweep(folder, '--on', 'none')
        write(folder + '/claims/1', '')
        write(folder + '/claims/2', 'not JSON')
        os.mkdir(folder + '/claims/3')
        worker = self.worker(folder, '--tables')
        log = wait_for('result', lambda: [file for file in glob.glob(folder + '/results/*.jsonl') if os.path.getsize(file) > 60])[0]
        os.truncate(log, os.path.getsize(log) - 30)
        self.assertEqual(worker.wait(timeout=300), 0, worker.stderr.read())
        self.assertTrue(results(folder) == results(local))

    def test_equal_sweeps_at_once_share_the_runs(self):
        local, folder = self.folder('local_5'), self.folder('at_once')
        self.sweep(local, '--jobs', '1')
        command = [program, 'sweep', scenario, '--vary', 'contact.restitution=0.2:0.9:0.1', '--set', 'analysis.end_time=2', '--quiet',
                   '--jobs', '1', '-o', folder]
        sweeps = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in range(3)]
        for sweep in sweeps:
            _, complaints = sweep.communicate(timeout=300)
            self.assertEqual(sweep.returncode, 0, complaints)
        self.assert_same(folder, results(local))

    def test_files_of_others_are_left_alone(self):
        folder = self.folder('project')
        os.makedirs(folder + '/results')
        write(folder + '/results/mine.csv', 'data')
        self.assertIn('not of a sweep', self.sweep(folder, code=file_code).stderr)
        self.assertEqual(os.listdir(folder), ['results'])
        self.assertIn('given twice', self.sweep(folder, vary='contact.restitution=0.5,0.5', code=bad_input).stderr)

    def test_other_grids_keep_the_right_results(self):
        folder, fresh = self.folder('grids'), self.folder('grids_fresh')
        for vary in ('description=zz,x/y', 'description=x/y,x y'):
            self.sweep(folder, vary=vary, set_='analysis.end_time=0.5')
        self.sweep(fresh, vary='description=x/y,x y', set_='analysis.end_time=0.5')
        self.assertEqual(results(folder), results(fresh))
        self.assertEqual(len({row['folder'] for row in table(folder)}), 2)

    def test_ctrl_c_reaches_the_workers_of_a_command(self):
        folder = self.folder('command_stopped')
        sweep = subprocess.Popen([program, 'sweep', scenario, '--vary', 'contact.restitution=0.5,0.6', '--set', 'analysis.end_time=3000',
                                  '--set', 'analysis.budget.rows=200000000', '--on', 'command', '--command', '{}; true', '--jobs', '2',
                                  '-o', folder], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        wait_for('runs in progress', lambda: len(glob.glob(folder + '/running/*/timeseries.csv')) == 2)
        sweep.send_signal(signal.SIGINT)
        _, complaints = sweep.communicate(timeout=300)
        self.assertEqual(sweep.returncode, 130, complaints)
        self.assertEqual(sum(event['event'] == 'stopped' for event in events(folder)), 2)

    def test_kubernetes_manifest_is_an_indexed_job(self):
        folder = self.folder('kubernetes')
        beside = os.path.join(output, 'beside.yaml')
        shutil.copy(scenario, beside)
        said = self.sweep(folder, '--on', 'kubernetes', '--jobs', '7', of=beside).stdout
        self.assertIn('kubectl apply', said)
        with open(folder + '/kubernetes-job.yaml', encoding='utf-8') as file:
            job = yaml.safe_load(file)
        self.assertEqual((job['apiVersion'], job['kind']), ('batch/v1', 'Job'))
        self.assertRegex(job['metadata']['name'], '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')
        self.assertEqual((job['spec']['completionMode'], job['spec']['completions']), ('Indexed', 7))
        pod = job['spec']['template']['spec']
        self.assertEqual(pod['containers'][0]['volumeMounts'][0]['mountPath'], output)
        container = pod['containers'][0]
        self.assertEqual({mount['name'] for mount in container['volumeMounts']}, {volume['name'] for volume in pod['volumes']})
        self.assertIn(pod['restartPolicy'], ('Never', 'OnFailure'))
        # Its command is that of a worker.
        done = subprocess.run([program, *container['command'][1:]], capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(table(folder)), 8)

    def test_missing_slurm_is_reported(self):
        folder = self.folder('no_slurm')
        said = self.sweep(folder, '--on', 'slurm', code=bad_input, env={'PATH': '/nonexistent'}).stderr
        self.assertIn('found no sbatch', said)
        self.assertFalse(os.path.exists(folder))
        for lease in ('nan', '0', 'x'):
            self.assertIn('lease', self.sweep(folder, '--lease', lease, code=bad_input).stderr)
        self.assertIn('--on slurm', self.sweep(folder, '--slurm=--hold', code=bad_input).stderr)
        self.assertIn("did you mean 'slurm'", self.sweep(folder, '--on', 'slrum', code=bad_input).stderr)


class Slurm(unittest.TestCase):
    """A real controller with two nodes on this machine."""

    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0 or not all(shutil.which(name) for name in ('slurmctld', 'slurmd', 'sbatch')):
            raise unittest.SkipTest(skipped_without_slurm)
        cls.cluster = os.path.join(output, 'slurm')
        subprocess.run([slurm_here, 'start', '--folder', cls.cluster], check=True)
        os.environ['SLURM_CONF'] = cls.cluster + '/slurm.conf'

    @classmethod
    def tearDownClass(cls):
        subprocess.run([slurm_here, 'stop', '--folder', cls.cluster], check=True)
        del os.environ['SLURM_CONF']

    folder = Queue.folder
    sweep = Queue.sweep
    assert_same = Queue.assert_same

    def test_job_array_gives_the_bytes_of_a_local_sweep(self):
        local, folder = self.folder('local_3'), self.folder('array')
        self.sweep(local, '--jobs', '1')
        self.sweep(folder, '--on', 'slurm', '--jobs', '3')
        self.assert_same(folder, results(local))

    def start(self, folder, *options):
        command = [program, 'sweep', scenario, '--vary', 'contact.restitution=0.3,0.7', '--set', 'analysis.end_time=300',
                   '--set', 'analysis.budget.rows=200000000', '--on', 'slurm', '--jobs', '2', '-o', folder, *options]
        sweep = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: sweep.poll() is not None or (sweep.kill(), sweep.communicate()))
        wait_for('runs in progress', lambda: len(glob.glob(folder + '/running/*/timeseries.csv')) == 2)
        return sweep

    def test_cancelled_job_is_not_submitted_again(self):
        folder = self.folder('cancelled')
        sweep = self.start(folder)
        subprocess.run(['scancel', '--name', 'heelstrike-bouncing_ball'], check=True)
        _, complaints = sweep.communicate(timeout=300)
        self.assertEqual(sweep.returncode, 3, complaints)
        self.assertIn('was cancelled', complaints)
        self.assertIn('heelstrike resume', complaints)

    def test_ctrl_c_ends_the_job_with_checkpoints(self):
        folder = self.folder('stopped')
        sweep = self.start(folder)
        sweep.send_signal(signal.SIGINT)
        _, complaints = sweep.communicate(timeout=300)
        self.assertEqual(sweep.returncode, 130, complaints)
        self.assertEqual(sum(event['event'] == 'stopped' for event in events(folder)), 2)
        self.assertEqual(subprocess.run(['squeue', '--noheader'], capture_output=True, check=True).stdout, b'')

    def test_unknown_partition_is_reported(self):
        said = self.sweep(self.folder('partition'), '--on', 'slurm', '--slurm=--partition=gpu', code=bad_input).stderr
        self.assertIn('invalid partition', said)


if __name__ == '__main__':
    shutil.rmtree(output, ignore_errors=True)
    os.makedirs(output)
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]], verbosity=2)
