import { execFile } from 'node:child_process'
import { mkdir, realpath, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { findProgram } from '../distribution.ts'
import type { ContainerEngine } from './engines.ts'

const run = promisify(execFile)

/** Large packages that are not needed to print a line. */
const OMITTED = [
  'dist-packages',
  'site-packages',
  'test',
  'config-*',
  'lib-dynload',
  '__pycache__',
  'idlelib',
  'ensurepip',
]

/** The Python of this machine, in the engine under this name and in the registry of the name. */
export async function pushPython(engine: ContainerEngine, image: string, directory: string): Promise<void> {
  // The program on the path may be a script that chooses one.
  const { stdout: told } = await run(findProgram('python3')!, [
    '-Ic',
    'import os, sys; print(sys.executable, os.__file__)',
  ])
  const [executable, standard] = told.trim().split(' ') as [string, string]
  const program = await realpath(executable)
  const { stdout: linked } = await run('ldd', [program])
  const libraries = Array.from(linked.matchAll(/(\/\S+) \(0x/g), ([, path]) => path!)
  const [files, archive] = [join(directory, 'python'), join(directory, 'python.tar')]
  const inRoot = (path: string) => path.slice(1)
  const excluded = OMITTED.map((name) => `--exclude=${name}`)
  await run('tar', ['-chf', archive, '-C', '/', ...[program, ...libraries].map(inRoot)])
  await run('tar', ['-rf', archive, ...excluded, '-C', '/', inRoot(dirname(standard))])
  await mkdir(join(files, 'bin'), { recursive: true })
  await run('tar', ['-xf', archive, '-C', files])
  await symlink(program, join(files, 'bin', 'python'))
  // Docker gives directories that no archive names to root alone.
  await run('chmod', ['-R', 'a+rX', files])
  await run('tar', ['--owner=0', '--group=0', '-cf', archive, '-C', files, '.'])
  await engine.cli('import', archive, image)
  await engine.push(image)
  await engine.cli('rmi', image)
}
