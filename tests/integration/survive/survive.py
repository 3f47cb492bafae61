"""Kills each side of a run at seeded instants of its progress and compares the bytes of the final results.

An instant is the n-th system call of one kind (a row or a checkpoint being written, a message sent or received), so that
it is the same on every machine; faults_preload.cpp kills the program there. A run that has lost its client is continued
by `heelstrike resume`; a run that has lost a server continues by itself.

Usage: survive.py --programs FOLDER --faults LIBRARY --examples FOLDER [--instants N] [--seed S] [--case NAME]...
                  [--side client|mbs|fem|both]... [--table]
"""
import argparse
import collections
import filecmp
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time

NAMES = {'client': 'heelstrike', 'mbs': 'mbs_server', 'fem': 'fem_server'}
# Calls of each side that can be counted; a kill occurs at one of these.
CALLS = {'client': ['write', 'rename'], 'mbs': ['write', 'send', 'recv'], 'fem': ['send', 'recv']}
# Files that differ from run to run: wall times, the page that shows them, output of programs.
APART = {'run.log', 'timing.json', 'report.html', 'checkpoints'}
# Output of `resume` if a run has to restart.
NO_CHECKPOINT = ['without checkpoints', 'no scenario.yaml', 'found no folder']
LIMIT = 300  # [s] of one program: longer is a hang
# As many checkpoints as possible: kills then coincide with them, and runs of a second resume in their middle.
EVERY_CHECKPOINT = ['--set', 'output.checkpoint_period=1e-3']


def ball(integrator, *more):
    return ['bouncing_ball.yaml', '--set', 'analysis.end_time=1', '--set', f'analysis.integrator={{{integrator}}}', *more]


CASES = {
    'ball_cvode_index1': ball('name: cvode_index1, rtol: 1.0e-9'),
    'ball_ida_ggl': ball('name: ida_ggl, rtol: 1.0e-8'),
    'ball_arkode_erk': ball('name: arkode_erk, rtol: 1.0e-8'),
    'ball_arkode_dirk': ball('name: arkode_dirk, rtol: 1.0e-7'),
    'ball_rk4': ball('name: rk4, step: 1.0e-4', '--set', 'analysis.end_time=0.5'),
    'ball_ab4am4': ball('name: ab4am4, step: 1.0e-4', '--set', 'analysis.end_time=0.5'),
    'block_friction': ['block_friction.yaml', '--set', 'contact.element_size=0.005', '--set', 'output.interval=0.02'],
    'fem_ball': ['fem_ball.yaml', '--set', 'contact.element_size=0.04', '--set', 'contact.contact_size=0.008',
                 '--set', 'analysis.end_time=0.5', '--set', 'output.fields={interval: 0.05}'],
}


def files_of(folder):
    found = {}
    for root, _, names in os.walk(folder):
        for name in names:
            path = os.path.relpath(os.path.join(root, name), folder)
            if path.split(os.sep)[0] not in APART:
                found[path] = os.path.join(root, name)
    return found


def differences(expected, found):
    a, b = files_of(expected), files_of(found)
    return sorted(set(a) ^ set(b)) + sorted(name for name in set(a) & set(b) if not filecmp.cmp(a[name], b[name], False))


def counted(token):
    with open(token, 'rb') as file:
        return struct.unpack('Q', file.read())[0]


class Lab:
    def __init__(self, options):
        self.options = options
        self.options.examples = os.path.abspath(options.examples)
        self.folder = tempfile.mkdtemp(prefix='heelstrike-survive-')
        self.tokens = 0

    def order(self, side, call, n, how):
        self.tokens += 1
        token = os.path.join(self.folder, f'token{self.tokens}')
        with open(token, 'wb') as file:
            file.write(struct.pack('Q', 0))
        return f'{NAMES[side]}:{call}:{n}:{token}:{how}', token

    def program(self, arguments, orders=()):
        environment = dict(os.environ, XDG_CACHE_HOME=os.path.join(self.folder, 'cache'))
        if orders:
            environment.update(LD_PRELOAD=self.options.faults, HEELSTRIKE_TEST_FAULTS=';'.join(o for o, _ in orders))
        return subprocess.run([os.path.join(self.options.programs, 'heelstrike'), *arguments], cwd=self.folder,
                              env=environment, capture_output=True, text=True, timeout=LIMIT)

    def run_arguments(self, case, output):
        scenario, *more = CASES[case]
        return ['run', os.path.join(self.options.examples, scenario), *more, *EVERY_CHECKPOINT,
                '-o', output, '--force', '--quiet']

    def reference(self, case):
        """An uninterrupted run, and how many calls of each kind it makes."""
        self.program(self.run_arguments(case, 'warm'))  # all following runs read prepared products from the cache
        orders = {(side, call): self.order(side, call, 0, 'count') for side, calls in CALLS.items() for call in calls}
        done = self.program(self.run_arguments(case, case), orders.values())
        if done.returncode != 0:
            raise RuntimeError(f'{case}: the uninterrupted run failed: {done.stderr}')
        return {key: counted(token) for key, (_, token) in orders.items()}


class Instant:
    """The killed side and call, drawn from a seed, so that it is reproducible."""

    def __init__(self, lab, side, totals, seed):
        chance = random.Random(seed)
        self.orders = []
        twice = chance.random() < 0.25
        for _ in range(2 if twice else 1):
            who = chance.choice(['mbs', 'fem']) if side == 'both' else side
            call = chance.choice(CALLS[who])
            most = totals[(who, call)]
            # Opening and the first steps are short, and as likely to be chosen as all the rest.
            n = chance.randint(1, max(1, min(most, 20) if chance.random() < 0.25 else most))
            how = chance.choice(['half', 'before', 'after'] if call == 'write' else ['before', 'after'])
            self.orders.append(lab.order(who, call, n, 'both' if side == 'both' else how))

    def text(self):
        return ', '.join(':'.join(o.split(':')[:3] + o.split(':')[-1:]) for o, _ in self.orders)

    def n_deaths(self):
        return sum(not os.path.exists(token) for _, token in self.orders)


def recover_from(lab, case, instant):
    """@returns the error, empty for none"""
    output = os.path.join(lab.folder, 'cut')
    shutil.rmtree(output, ignore_errors=True)
    result = lab.program(lab.run_arguments(case, 'cut'), instant.orders)
    for _ in range(4):
        if result.returncode != -9:
            break
        # The client is killed.
        result = lab.program(['resume', 'cut', '--quiet'], instant.orders)
        if result.returncode == 5 and any(text in result.stderr for text in NO_CHECKPOINT):
            result = lab.program(lab.run_arguments(case, 'cut'), instant.orders)  # as the message says
        elif result.returncode == 5 and 'one that is complete' in result.stderr:
            result.returncode = 0  # it was killed after the end of the run
    if result.returncode != 0:
        return f'exit code {result.returncode}: {result.stderr.strip()[-600:]}'
    different = differences(os.path.join(lab.folder, case), output)
    return f'other bytes: {", ".join(different)}' if different else ''


def main():
    parser = argparse.ArgumentParser()
    for name in ['programs', 'faults', 'examples']:
        parser.add_argument(f'--{name}', required=True)
    parser.add_argument('--instants', type=int, default=20, help='for each case and side')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--case', action='append', choices=CASES)
    parser.add_argument('--side', action='append', choices=['client', 'mbs', 'fem', 'both'])
    parser.add_argument('--table', action='store_true', help='print every case and side when it is done')
    options = parser.parse_args()
    lab = Lab(options)
    failures, rows = [], []
    try:
        for case in options.case or CASES:
            totals = lab.reference(case)
            for side in options.side or ['client', 'mbs', 'fem', 'both']:
                counts = collections.Counter()
                begin = time.monotonic()
                for k in range(options.instants):
                    instant = Instant(lab, side, totals, f'{options.seed}/{case}/{side}/{k}')
                    trouble = recover_from(lab, case, instant)
                    counts.update(runs=1, deaths=instant.n_deaths(), failed=bool(trouble))
                    if trouble:
                        failures.append(f'{case}, {side}, instant {k} ({instant.text()}): {trouble}')
                        print(failures[-1], flush=True)
                rows.append((case, side, counts['runs'], counts['deaths'], counts['failed'], time.monotonic() - begin))
                if options.table:
                    print('{:20} {:7} {:5} runs {:5} deaths {:4} failed {:8.1f} s'.format(*rows[-1]), flush=True)
    finally:
        shutil.rmtree(lab.folder, ignore_errors=True)
    deaths = sum(row[3] for row in rows)
    print(f'{sum(row[2] for row in rows)} runs, {deaths} kills, {len(failures)} failed; --seed {options.seed} repeats them')
    if deaths == 0:
        print('no process was killed: the faults were not loaded')
    sys.exit(1 if failures or deaths == 0 else 0)


if __name__ == '__main__':
    main()
