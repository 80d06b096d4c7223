import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/**
 * What tests use and npm cannot bring: programs of the distribution, each with Debian's package. Tests start private
 * instances on free loopback ports.
 */
const PROGRAMS = {
  bubblewrap: { program: 'bwrap', debian: 'bubblewrap' },
  'docker-compose': { program: 'docker-compose', debian: 'docker-compose' },
  haproxy: { program: 'haproxy', debian: 'haproxy' },
  nginx: { program: 'nginx', debian: 'nginx-light' },
  pgbouncer: { program: 'pgbouncer', debian: 'pgbouncer' },
  python3: { program: 'python3', debian: 'python3' },
  promtool: { program: 'promtool', debian: 'prometheus' },
  systemd: { program: 'systemd-analyze', debian: 'systemd' },
}

/** Programs that build and run images, and that make a first image where none can be pulled. */
const PODMAN = { podman: 'podman', runc: 'runc', catatonit: 'catatonit', mmdebstrap: 'mmdebstrap' }

/** Directories in which Debian keeps programs that are not on an ordinary user's path. */
const SYSTEM_PATHS = ['/usr/local/sbin', '/usr/sbin', '/sbin', '/usr/local/bin', '/usr/bin', '/bin']

/** Absolute path of an installed program; null where there is none. */
export function findProgram(name: string): string | null {
  const paths = [...(process.env['PATH'] ?? '').split(':').filter((path) => path.startsWith('/')), ...SYSTEM_PATHS]
  return paths.map((path) => join(path, name)).find(isExecutable) ?? null
}

/** Debian has the programs of each PostgreSQL in a directory by themselves: that of the newest; null without any. */
export function findPostgres(): string | null {
  const root = '/usr/lib/postgresql'
  const versions = existsSync(root) ? readdirSync(root).toSorted((a, b) => Number(b) - Number(a)) : []
  const directories = versions.map((version) => join(root, version, 'bin'))
  return directories.find((directory) => isExecutable(join(directory, 'initdb'))) ?? null
}

/** The same for a PostgreSQL with pg_dump and pg_basebackup, which the embedded one does not have. */
export function whyNoPostgres(): string | null {
  return skipReason('postgresql', findPostgres() === null ? 'there is no server: apt-get install postgresql' : null)
}

/** The distribution's Python, which finds the distribution's packages, else the first on the path; null without any. */
export function findPython(): string | null {
  return isExecutable('/usr/bin/python3') ? '/usr/bin/python3' : findProgram('python3')
}

/** The packages of Python that tests use, each with a module that it lacks where Debian's package is not installed. */
const PYTHON_MODULES = {
  cloudpickle: 'cloudpickle',
  joblib: 'joblib',
  mypy: 'mypy',
  venv: 'ensurepip',
}

/** The same for a package of Python. */
export function whyNoPythonModule(need: keyof typeof PYTHON_MODULES): string | null {
  const python = findPython()
  const isThere = python !== null && spawnSync(python, ['-c', `import ${PYTHON_MODULES[need]}`]).status === 0
  return skipReason(`python3-${need}`, isThere ? null : `Python has no ${need}: apt-get install python3-${need}`)
}

/**
 * Why tests that need this are skipped: for `describe.skipIf` and the name; null where it is installed.
 *
 * @throws where `TEST_REQUIRE` names it and it is not installed
 */
export function whyNotInstalled(need: keyof typeof PROGRAMS): string | null {
  const { program, debian } = PROGRAMS[need]
  return skipReason(
    need,
    findProgram(program) === null ? `${program} is not installed: apt-get install ${debian}` : null,
  )
}

/** The same for all that containers take: Podman, as root. */
export function whyNoPodman(): string | null {
  const missing = Object.entries(PODMAN).flatMap(([name, debian]) => (findProgram(name) === null ? [debian] : []))
  if (missing.length > 0) return skipReason('podman', `it takes more: apt-get install ${missing.join(' ')}`)
  return skipReason('podman', process.getuid?.() === 0 ? null : 'this is not root')
}

/** The reason again, or an error where `TEST_REQUIRE=<name>,<name>` names what cannot be had. */
export function skipReason(need: string, reason: string | null): string | null {
  const required = (process.env['TEST_REQUIRE'] ?? '').split(',').map((name) => name.trim())
  if (reason !== null && required.includes(need)) throw new Error(`TEST_REQUIRE names ${need}, but ${reason}`)
  return reason
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
