"""VTK writes every supported combination of encoding, compressor, byte order, header and version, and the mesh
readers compare the result with the input of VTK.

Usage: write_vtk_variants.py GEOMETRY_TEST OUTPUT_FOLDER
"""
import itertools
import os
import shutil
import subprocess
import sys

try:
    import vtk
except ImportError as missing:
    print(f'SKIPPED: {missing}; scripts/setup installs python3-vtk9')
    sys.exit(77)

test_program, output = sys.argv[1:3]
shutil.rmtree(output, ignore_errors=True)
os.makedirs(output)


def points_of(n, precision, digits):
    """n^3 points; with digits such that no binary fraction represents them. Legacy text files keep six digits."""
    points = vtk.vtkPoints()
    points.SetDataType(precision)
    for k, j, i in itertools.product(range(n), repeat=3):
        points.InsertNextPoint(*((0.1 * i + 0.01 * j, 0.1 * j / 3, 0.1 * k / 7) if digits else (i / 8, j / 4, k / 2)))
    return points


def add_arrays(data, n_cells, n_points):
    """Data of every type, with names and information in VTK's own forms."""
    for array_type, name in [(vtk.vtkIntArray, 'material'), (vtk.vtkFloatArray, 'a name with 100 %'),
                             (vtk.vtkBitArray, 'bits'), (vtk.vtkUnsignedCharArray, 'bytes'),
                             (vtk.vtkStringArray, 'texts'), (vtk.vtkDoubleArray, 'vectors')]:
        for attributes, n in [(data.GetCellData(), n_cells), (data.GetPointData(), n_points)]:
            if array_type is vtk.vtkStringArray and attributes is data.GetCellData():
                continue
            array = array_type()
            array.SetName(name)
            array.SetNumberOfComponents(3 if name == 'vectors' else 1)
            array.SetNumberOfTuples(n)
            for i in range(n * array.GetNumberOfComponents()):
                if array_type is vtk.vtkStringArray:
                    array.SetValue(i, 'a text of node ' + 'x' * (i % 100))
                else:
                    array.SetValue(i, i % 2)
            if name == 'vectors':
                for c in range(3):
                    array.SetComponentName(c, 'component %d' % c)
            attributes.AddArray(array)
    time = vtk.vtkDoubleArray()
    time.SetName('TimeValue')
    time.InsertNextValue(0.5)
    data.GetFieldData().AddArray(time)


def grid_of(n, precision, digits):
    grid = vtk.vtkUnstructuredGrid()
    grid.SetPoints(points_of(n, precision, digits))
    for k, j, i in itertools.product(range(n - 1), repeat=3):
        corner = [i + a + n * (j + b) + n * n * (k + c) for c in (0, 1) for b in (0, 1) for a in (0, 1)]
        for tetrahedron in [(0, 1, 3, 7), (0, 3, 2, 7), (0, 2, 6, 7), (0, 6, 4, 7), (0, 4, 5, 7), (0, 5, 1, 7)]:
            grid.InsertNextCell(vtk.VTK_TETRA, 4, [corner[c] for c in tetrahedron])
    add_arrays(grid, grid.GetNumberOfCells(), grid.GetNumberOfPoints())
    return grid


def surface_of(n, precision, digits):
    surface = vtk.vtkPolyData()
    surface.SetPoints(points_of(n, precision, digits))
    polygons = vtk.vtkCellArray()
    for k, j, i in itertools.product(range(n), range(n - 1), range(n - 1)):
        corner = [i + a + n * (j + b) + n * n * k for b in (0, 1) for a in (0, 1)]
        for triangle in [(0, 1, 3), (0, 3, 2)]:
            polygons.InsertNextCell(3, [corner[c] for c in triangle])
    surface.SetPolys(polygons)
    add_arrays(surface, surface.GetNumberOfCells(), surface.GetNumberOfPoints())
    return surface


def write_truth(data, name):
    with open(os.path.join(output, name + '.truth'), 'w') as file:
        file.write('%d %d\n' % (data.GetNumberOfPoints(), data.GetNumberOfCells()))
        for i in range(data.GetNumberOfPoints()):
            file.write('%.17g %.17g %.17g\n' % data.GetPoint(i))
        for i in range(data.GetNumberOfCells()):
            ids = data.GetCell(i).GetPointIds()
            file.write(' '.join(str(ids.GetId(k)) for k in range(ids.GetNumberOfIds())) + '\n')


def write(writer, data, name):
    complaints = []
    writer.AddObserver('ErrorEvent', lambda *_: complaints.append('error'))
    writer.SetFileName(os.path.join(output, name))
    writer.SetInputData(data)
    assert writer.Write() == 1 and not complaints, name


compressors = {'plain': lambda: None, 'zlib': vtk.vtkZLibDataCompressor, 'lz4': vtk.vtkLZ4DataCompressor,
               'lzma': vtk.vtkLZMADataCompressor}
modes = {'ascii': None, 'binary': None, 'base64': True, 'raw': False}


def write_xml_in_blocks(writer_type, data, name, extension):
    """In blocks of VTK's own size."""
    for compressor in compressors:
        writer = writer_type()
        writer.SetCompressor(compressors[compressor]())
        write(writer, data, f'{name}.{compressor}.{extension}')
    return len(compressors)


def write_xml(writer_type, data, name, extension):
    n = 0
    for mode, compressor, header, order, id_type in itertools.product(modes, compressors, (32, 64), ('little', 'big'),
                                                                      (32, 64)):
        if mode == 'ascii' and (compressor != 'plain' or header == 64):
            continue
        writer = writer_type()
        writer.SetCompressor(compressors[compressor]())
        {'ascii': writer.SetDataModeToAscii, 'binary': writer.SetDataModeToBinary}.get(
            mode, writer.SetDataModeToAppended)()
        if modes[mode] is not None:
            writer.SetEncodeAppendedData(modes[mode])
        writer.SetHeaderTypeToUInt32() if header == 32 else writer.SetHeaderTypeToUInt64()
        writer.SetByteOrderToLittleEndian() if order == 'little' else writer.SetByteOrderToBigEndian()
        writer.SetIdTypeToInt32() if id_type == 32 else writer.SetIdTypeToInt64()
        if header == 64 and id_type == 64:
            writer.SetBlockSize(800)
        write(writer, data, f'{name}.{mode}_{compressor}_{header}_{order}_{id_type}.{extension}')
        n += 1
    write(writer_type(), data, f'{name}.default.{extension}')
    return n + 1


def write_legacy(writer_type, data, name, _):
    for binary, version in itertools.product((False, True), (42, 51)):
        writer = writer_type()
        writer.SetFileTypeToBinary() if binary else writer.SetFileTypeToASCII()
        writer.SetFileVersion(version)
        write(writer, data, f'{name}.{"binary" if binary else "ascii"}_{version}.vtk')
    write(writer_type(), data, f'{name}.default.vtk')
    return 5


n_files = 0
# Every combination with small arrays, half of the time in blocks of 800 bytes; VTK's blocks of 32,768 bytes are exceeded from
# 1,366 points on.
for size, precision in [(2, vtk.VTK_FLOAT), (4, vtk.VTK_DOUBLE), (12, vtk.VTK_DOUBLE)]:
    for kind, make, xml, legacy, extension in [
            ('grid', grid_of, vtk.vtkXMLUnstructuredGridWriter, vtk.vtkUnstructuredGridWriter, 'vtu'),
            ('surface', surface_of, vtk.vtkXMLPolyDataWriter, vtk.vtkPolyDataWriter, 'vtp')]:
        for name, digits, write_all, writer in [
                (f'{kind}{size}', True, write_xml if size < 12 else write_xml_in_blocks, xml),
                (f'legacy_{kind}{size}', False, write_legacy, legacy)]:
            data = make(size, precision, digits)
            write_truth(data, name)
            n_files += write_all(writer, data, name, extension)
print(f'{n_files} files of VTK {vtk.vtkVersion.GetVTKVersion()}')
subprocess.run([test_program, '--gtest_filter=VtkFiles.*', '--gtest_brief=1'], check=True,
               env={**os.environ, 'HEELSTRIKE_VTK_FILES': output, 'HEELSTRIKE_VTK_FILE_COUNT': str(n_files)})
