"""The disk is full from the n-th write on: a file error, and the run continues once there is space again.

Usage: full_disk.py --programs FOLDER --faults LIBRARY --examples FOLDER [--instants N]
"""
import argparse
import os
import shutil
import sys

import survive

CASE = 'ball_cvode_index1'
FILE_ERROR = 5
# Permitted output of `resume`: there was no space for the folder itself. A run that has begun continues, without a checkpoint from
# its beginning.
NEVER_BEGAN = ['no scenario.yaml', 'found no folder']
CALLS_OF_THE_PAGE = 1  # the page is written after the run


def fill(lab, side, call, n, more):
    """@returns the error, empty for none"""
    output = os.path.join(lab.folder, 'cut')
    shutil.rmtree(output, ignore_errors=True)
    order = lab.order(side, call, n, 'full')
    result = lab.program(lab.run_arguments(CASE, 'cut') + more, [order])
    os.unlink(order[1])  # space again
    if result.returncode != FILE_ERROR or 'No space left' not in result.stderr or 'defect' in result.stderr:
        return f'exit code {result.returncode}, expected {FILE_ERROR}: {result.stderr.strip()[-300:]}'
    result = lab.program(['resume', 'cut', '--quiet'] + more)
    if result.returncode == FILE_ERROR and any(text in result.stderr for text in NEVER_BEGAN):
        result = lab.program(lab.run_arguments(CASE, 'cut') + more)
    if result.returncode != 0:
        return f'resumed: exit code {result.returncode}: {result.stderr.strip()[-300:]}'
    different = survive.differences(os.path.join(lab.folder, CASE), output)
    return f'other bytes: {", ".join(different)}' if different else ''


def instants(total, wanted):
    """The first and the last ones, where files are created and finished, and some between."""
    return sorted({*range(1, 4), *range(1, total + 1, max(1, total // wanted)), *range(total - 2, total + 1)})


def main():
    parser = argparse.ArgumentParser()
    for name in ['programs', 'faults', 'examples']:
        parser.add_argument(f'--{name}', required=True)
    parser.add_argument('--instants', type=int, default=2)
    options = parser.parse_args()
    lab = survive.Lab(options)
    failures, n = [], 0
    try:
        lab.reference(CASE)
        counters = {call: lab.order('client', call, 0, 'count') for call in ['write', 'fsync', 'rename']}
        lab.program(lab.run_arguments(CASE, 'counted') + ['--in-process'], counters.values())
        for call, (_, token) in counters.items():
            total = survive.counted(token) - CALLS_OF_THE_PAGE
            for k in instants(total, options.instants):
                n += 1
                trouble = fill(lab, 'client', call, k, ['--in-process'])
                if trouble:
                    failures.append(f'{call} {k} of {total}: {trouble}')
        for k in [3, 40]:  # the spool of a private server
            n += 1
            trouble = fill(lab, 'mbs', 'write', k, [])
            if trouble:
                failures.append(f'write {k} of the multibody server: {trouble}')
    finally:
        shutil.rmtree(lab.folder, ignore_errors=True)
    for failure in failures:
        print(failure)
    print(f'{n} full disks, {len(failures)} failed')
    sys.exit(1 if failures else 0)


if __name__ == '__main__':
    main()
