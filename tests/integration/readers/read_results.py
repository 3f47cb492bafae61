"""Runs a foot press and a ball with the real program and reads the results with VTK and with a reader of OpenSim's
storages that shares no code with Heelstrike.

Usage: read_results.py HEELSTRIKE EXAMPLES OUTPUT_FOLDER
"""
import csv
import json
import math
import os
import shutil
import subprocess
import sys
import unittest
import xml.etree.ElementTree as xml

try:
    import vtk
    from vtk.util.numpy_support import vtk_to_numpy
except ImportError as missing:
    print(f'SKIPPED: {missing}; scripts/setup installs python3-vtk9')
    sys.exit(77)

program, examples, output = sys.argv[1:4]


def run(name, scenario, *settings):
    folder = os.path.join(output, name)
    arguments = [program, 'run', os.path.join(examples, scenario), '--in-process', '--quiet', '-o', folder]
    for setting in settings:
        arguments += ['--set', setting]
    subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL)
    return folder


def read_csv(folder):
    with open(os.path.join(folder, 'timeseries.csv'), newline='') as file:
        rows = list(csv.reader(file))
    return {name: [float(row[k] or 'nan') for row in rows[1:]] for k, name in enumerate(rows[0])}


def read_grid(file):
    """The grid; a complaint of VTK is a failure."""
    complaints = []
    reader = vtk.vtkXMLUnstructuredGridReader()
    reader.AddObserver('ErrorEvent', lambda *_: complaints.append('error'))
    reader.AddObserver('WarningEvent', lambda *_: complaints.append('warning'))
    reader.SetFileName(file)
    reader.Update()
    assert not complaints, (file, complaints)
    return reader.GetOutput()


def read_pvd(folder):
    """[(time, part, name, file)] as read by ParaView."""
    root = xml.parse(os.path.join(folder, 'fields.pvd')).getroot()
    assert root.tag == 'VTKFile' and root.get('type') == 'Collection', root.attrib
    return [(float(d.get('timestep')), int(d.get('part')), d.get('name'), os.path.join(folder, d.get('file')))
            for d in root.find('Collection')]


def read_storage(file):
    """OpenSim's storage: a name, key=value lines, endheader, labels, rows (separated by tabs)."""
    with open(file) as lines:
        text = lines.read().split('\n')
    header = {}
    at = 1
    while text[at] != 'endheader':
        key, value = text[at].split('=')
        header[key] = value
        at += 1
    labels = text[at + 1].split('\t')
    rows = [[float(cell) for cell in line.split('\t')] for line in text[at + 2:] if line]
    assert text[-1] == '', 'the last line is not ended'
    assert int(header['nRows']) == len(rows), (header, len(rows))
    assert int(header['nColumns']) == len(labels) and all(len(row) == len(labels) for row in rows), header
    assert labels[0] == 'time' and header['inDegrees'] in ('yes', 'no'), (labels[0], header)
    assert len(set(labels)) == len(labels), 'a label twice'
    times = [row[0] for row in rows]
    assert all(a <= b for a, b in zip(times, times[1:])), 'time goes back'
    return {label: [row[k] for row in rows] for k, label in enumerate(labels)}


class FootPress(unittest.TestCase):
    """A clamped foot, with a plate that moves against it."""

    @classmethod
    def setUpClass(cls):
        cls.folder = run('foot_press', 'foot_press.yaml', 'contact.sole-plate.element_size=0.01',
                         'output.fields.interval=0.25')
        cls.csv = read_csv(cls.folder)
        cls.files = read_pvd(cls.folder)

    def of(self, name):
        return [(t, file) for t, _, n, file in self.files if n == name]

    def test_index_names_every_time_of_both_bodies(self):
        self.assertEqual({n for _, _, n, _ in self.files}, {'sole-plate_foot', 'sole-plate_plate_partner'})
        for name in ('sole-plate_foot', 'sole-plate_plate_partner'):
            self.assertEqual([t for t, _ in self.of(name)], [0.0, 0.25, 0.5, 0.75, 1.0])

    def test_arrays_have_names_units_and_components(self):
        grid = read_grid(self.of('sole-plate_foot')[-1][1])
        data = grid.GetPointData()
        found = {}
        for k in range(data.GetNumberOfArrays()):
            array = data.GetArray(k)
            unit = array.GetInformation().Get(vtk.vtkDataArray.UNITS_LABEL())
            found[array.GetName()] = (array.GetNumberOfComponents(), unit)
            self.assertEqual(array.GetNumberOfTuples(), grid.GetNumberOfPoints())
        self.assertEqual(found, {'displacement': (3, 'm'), 'contact_pressure': (1, 'Pa'), 'traction': (3, 'Pa'),
                                 'von_mises': (1, 'Pa'), 'principal_stress': (3, 'Pa')})

    def test_cells_have_data(self):
        for name, expected in (('sole-plate_foot', {'partner': None, 'contact_pressure': 'Pa', 'von_mises': 'Pa'}),
                               ('sole-plate_plate_partner', {'partner': None})):
            grid = read_grid(self.of(name)[-1][1])
            data = grid.GetCellData()
            found = {}
            for k in range(data.GetNumberOfArrays()):
                array = data.GetArray(k)
                found[array.GetName()] = array.GetInformation().Get(vtk.vtkDataArray.UNITS_LABEL())
                self.assertEqual((array.GetNumberOfTuples(), array.GetNumberOfComponents()), (grid.GetNumberOfCells(), 1))
            self.assertEqual(found, expected)
            part = vtk_to_numpy(data.GetArray('partner'))
            self.assertEqual((part.min(), part.max()), (1.0, 1.0) if name.endswith('partner') else (0.0, 0.0))
        grid = read_grid(self.of('sole-plate_foot')[-1][1])
        pressure = vtk_to_numpy(grid.GetCellData().GetArray('contact_pressure'))
        points = vtk_to_numpy(grid.GetPoints().GetData())
        force = 0.0
        for c in range(grid.GetNumberOfCells()):
            ids = [grid.GetCell(c).GetPointId(k) for k in range(3)]
            a, b, d = points[ids]
            force += pressure[c] * vtk.vtkTriangle.TriangleArea(a, b, d)
        # Result of "Integrate Variables" in ParaView, also where the pressure reaches the rim of the contact surface.
        self.assertAlmostEqual(force, self.csv['sole-plate.fz_N'][-1], delta=1e-9 * force)
        # Elements are not smoothed by their neighbours: of the same size as the smoothed stress, not equal to it.
        stress = vtk_to_numpy(grid.GetCellData().GetArray('von_mises'))
        smoothed = vtk_to_numpy(grid.GetPointData().GetArray('von_mises'))
        self.assertGreaterEqual(stress.min(), 0.0)
        self.assertGreater(stress.max(), 0.5 * smoothed.max())
        self.assertLess(stress.max(), 10.0 * smoothed.max())

    def test_shape_and_sizes(self):
        # The parametric foot: about 0.26 m long, 0.1 m wide, its sole 78 mm below the ankle (docs/studies/foot_press.md).
        grid = read_grid(self.of('sole-plate_foot')[0][1])
        x0, x1, y0, y1, z0, _ = grid.GetBounds()
        self.assertTrue(0.24 < x1 - x0 < 0.28, (x0, x1))
        self.assertTrue(0.08 < y1 - y0 < 0.12, (y0, y1))
        self.assertAlmostEqual(z0, -0.078, delta=1e-4)
        self.assertGreater(grid.GetNumberOfCells(), 500)
        kinds = {grid.GetCellType(c) for c in range(grid.GetNumberOfCells())}
        self.assertEqual(kinds, {vtk.VTK_TRIANGLE})

    def test_ranges_agree_with_the_time_series(self):
        for t, file in self.of('sole-plate_foot'):
            row = min(range(len(self.csv['time_s'])), key=lambda r: abs(self.csv['time_s'][r] - t))
            pressure = vtk_to_numpy(read_grid(file).GetPointData().GetArray('contact_pressure'))
            self.assertGreaterEqual(pressure.min(), 0.0)
            # Both are the peak nodal pressure; the files contain all digits.
            self.assertAlmostEqual(pressure.max(), self.csv['sole-plate.peak_pressure_Pa'][row],
                                   delta=1e-6 * max(1.0, pressure.max()), msg=f't = {t}')

    def test_pressure_sums_to_the_force(self):
        grid = read_grid(self.of('sole-plate_foot')[-1][1])
        traction = vtk_to_numpy(grid.GetPointData().GetArray('traction'))
        points = vtk_to_numpy(grid.GetPoints().GetData())
        force = 0.0
        for c in range(grid.GetNumberOfCells()):
            ids = [grid.GetCell(c).GetPointId(k) for k in range(3)]
            a, b, d = points[ids]
            normal = [(b - a)[1] * (d - a)[2] - (b - a)[2] * (d - a)[1], (b - a)[2] * (d - a)[0] - (b - a)[0] * (d - a)[2],
                      (b - a)[0] * (d - a)[1] - (b - a)[1] * (d - a)[0]]
            force += 0.5 * math.sqrt(sum(x * x for x in normal)) * traction[ids].mean(axis=0)[2]
        # Nodal tractions divide nodal forces by areas of the undeformed surface, over which they are summed here; the rim
        # as above.
        self.assertAlmostEqual(force, self.csv['sole-plate.fz_N'][-1], delta=1e-3 * abs(self.csv['sole-plate.fz_N'][-1]))

    def test_bodies_are_placed_by_their_poses(self):
        for t, file in self.of('sole-plate_plate_partner'):
            row = min(range(len(self.csv['time_s'])), key=lambda r: abs(self.csv['time_s'][r] - t))
            bounds = read_grid(file).GetBounds()
            self.assertAlmostEqual(bounds[4], self.csv['plate.z_m'][row], delta=1e-9)
            self.assertAlmostEqual(bounds[5], self.csv['plate.z_m'][row], delta=1e-9)
        # The foot is clamped; its deformed sole (points and displacement) lies on the plate, up to the penetration that a
        # coarse mesh has between its contact nodes.
        grid = read_grid(self.of('sole-plate_foot')[-1][1])
        self.assertAlmostEqual(grid.GetBounds()[4], -0.078, delta=1e-4)
        moved = vtk_to_numpy(grid.GetPoints().GetData()) + vtk_to_numpy(grid.GetPointData().GetArray('displacement'))
        self.assertAlmostEqual(moved[:, 2].min(), self.csv['plate.z_m'][-1], delta=2e-4)

    def test_wall_times_are_parts_of_the_whole(self):
        with open(os.path.join(self.folder, 'timing.json')) as file:
            timing = json.load(file)
        parts = timing['wall_times']
        self.assertEqual(set(parts), {'preparation_s', 'contact_s', 'transport_s', 'fields_s'})
        for name in ('preparation_s', 'contact_s', 'fields_s'):
            self.assertGreater(parts[name], 0.0, name)
        self.assertEqual(parts['transport_s'], 0.0)  # one process
        self.assertLessEqual(sum(parts.values()), timing['wall_time_s'])

    def test_storages_contain_the_time_series(self):
        forces = read_storage(os.path.join(self.folder, 'forces.sto'))
        motion = read_storage(os.path.join(self.folder, 'kinematics.sto'))
        self.assertEqual(forces['time'], self.csv['time_s'])
        self.assertEqual(forces['sole-plate.fz'], self.csv['sole-plate.fz_N'])
        self.assertEqual(motion['plate.z'], self.csv['plate.z_m'])
        self.assertEqual(motion['foot.qw'], self.csv['foot.qw'])


class Ball(unittest.TestCase):
    """A body that moves freely over the ground."""

    @classmethod
    def setUpClass(cls):
        cls.folder = run('ball', 'fem_ball.yaml', 'bodies.ball.position=[0.3,0,0.101]', 'analysis.end_time=0.02',
                         'analysis.integrator.rtol=1e-6', 'output.fields.interval=0.005',
                         'contact.ball-ground.element_size=0.05', 'contact.ball-ground.contact_size=0.01')
        cls.csv = read_csv(cls.folder)
        cls.files = read_pvd(cls.folder)

    def test_body_moves_and_ground_is_fixed(self):
        balls = [(t, file) for t, _, name, file in self.files if name == 'ball-ground_ball']
        grounds = [file for _, _, name, file in self.files if name == 'ball-ground_ground_partner']
        self.assertEqual(len(balls), len(grounds))
        # Five on the grid, and onset, peak and end of the contact.
        self.assertEqual(len(balls), 8)
        for t, file in balls:
            row = min(range(len(self.csv['time_s'])), key=lambda r: abs(self.csv['time_s'][r] - t))
            x0, x1, _, _, _, z1 = read_grid(file).GetBounds()
            # A coarse sphere of radius 0.1 m; its top moves with the body, up to its elastic deformation.
            self.assertAlmostEqual(0.5 * (x0 + x1), 0.3, delta=3e-3)
            self.assertAlmostEqual(z1, self.csv['ball.z_m'][row] + 0.1, delta=3e-3)
        for file in grounds:
            bounds = read_grid(file).GetBounds()
            self.assertEqual((bounds[4], bounds[5]), (0.0, 0.0))
            self.assertTrue(bounds[0] < 0.3 < bounds[1], bounds)


if __name__ == '__main__':
    shutil.rmtree(output, ignore_errors=True)
    os.makedirs(output)
    unittest.main(argv=[sys.argv[0]], verbosity=2)
