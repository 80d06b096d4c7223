import { execFile } from 'node:child_process'
import { readFile, stat } from 'node:fs/promises'
import { promisify } from 'node:util'
import { systemPath, systemProgram } from '../../machine/system-programs.ts'
import { EmbeddedPostgresError } from './embedded-error.ts'

const run = promisify(execFile)

export function isAlive(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/**
 * Whether `pid` is a running PostgreSQL. After a reboot or in a new container, a number from a pid file may belong to
 * any program; an exited process that has not been reaped still has its number.
 */
export async function isPostgres(pid: number): Promise<boolean> {
  if (!isAlive(pid)) return false
  if (process.platform === 'linux') {
    const commandLine = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    return commandLine.includes('postgres')
  }
  if (process.platform === 'win32') return true
  const list = run(systemProgram('ps'), ['-o', 'command=', '-p', String(pid)], { env: {} })
  const { stdout } = await list.catch(() => ({ stdout: '' }))
  return stdout.includes('postgres')
}

/**
 * The user that runs PostgreSQL's programs. PostgreSQL refuses to run as root, so root runs it as another user. Every
 * other user runs it as themselves.
 *
 * That user must be able to reach the programs and the data directory, which often lie below a directory that only root
 * can enter. Each way of running grants a little more than the one before; the first that reaches both is used.
 */

export interface DatabaseUser {
  uid: number
  gid: number
}

export interface RunAs {
  /** Null means the user of this process. */
  user: DatabaseUser | null
  /** Resolves with the program's output; rejects with its error output. */
  run(program: string, args: readonly string[], options: { cwd: string }): Promise<string>
}

interface Way {
  command: string[]
  uid?: number
  gid?: number
}

const execute = promisify(execFile)

/** Removes variables that would change the programs' behaviour or the connections to our own database. */
const environment = () =>
  Object.fromEntries(
    Object.entries({ ...process.env, PATH: systemPath(), LC_ALL: 'C' }).filter(([name]) => !name.startsWith('PG')),
  )

async function runWay(way: Way, program: string, args: readonly string[], cwd: string): Promise<string> {
  const [file, ...rest] = [...way.command, program, ...args]
  try {
    const { uid, gid } = way
    const { stdout } = await execute(file!, rest, { cwd, uid, gid, env: environment(), windowsHide: true })
    return stdout
  } catch (error) {
    const { stderr, stdout, message } = error as Error & { stderr?: string; stdout?: string }
    throw new Error([stderr, stdout].filter(Boolean).join('\n') || message, { cause: error })
  }
}

export async function chooseRunAs(options: { directory: string; postgres: string }): Promise<RunAs> {
  const way = process.getuid?.() === 0 ? await lendUser(options) : { command: [] }
  return {
    user: way.uid === undefined ? null : { uid: way.uid, gid: way.gid! },
    run: (program, args, { cwd }) =>
      runWay(way.command.length > 0 ? { command: way.command } : way, program, args, cwd),
  }
}

async function lendUser({ directory, postgres }: { directory: string; postgres: string }): Promise<Way> {
  const user = await findUser(directory)
  const ways = waysOf(user)
  for (const way of ways) {
    const probe = ['-c', '"$0" --version && test -x "$1"', postgres, directory]
    const bare = way.command.length > 0 ? { command: way.command } : way
    if (
      await runWay(bare, '/bin/sh', probe, '/').then(
        () => true,
        () => false,
      )
    )
      return way
  }
  throw new EmbeddedPostgresError(
    `PostgreSQL refuses to run as root, and user ${user.uid}, lent to it, cannot reach ${directory} or ${postgres}. ` +
      'Install setpriv (util-linux), put the project and REPRISE_DATA_DIR where every user may go, or start as another user.',
  )
}

function waysOf({ uid, gid }: DatabaseUser): Way[] {
  const setpriv = [systemProgram('setpriv'), `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups']
  // Without no_setuid_fixup, access(2), which initdb calls, would ignore the capability.
  const with_ = (capability: string) => [
    ...setpriv,
    `--inh-caps=+${capability}`,
    `--ambient-caps=+${capability}`,
    '--securebits=+no_setuid_fixup',
  ]
  return [
    { command: setpriv, uid, gid },
    { command: [], uid, gid },
    { command: with_('dac_read_search'), uid, gid },
    // The capability that containers grant to root by default.
    { command: with_('dac_override'), uid, gid },
  ]
}

/**
 * Finds the owner of the database directory, or else a user with no other purpose, created if necessary. It is not
 * `postgres`: if that user exists, it owns another PostgreSQL of this machine, and each could read the other's files.
 */
async function findUser(directory: string): Promise<DatabaseUser> {
  const owner = await stat(directory).catch(() => null)
  if (owner !== null && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid }
  const user = await ownUser()
  if (user === null) {
    throw new EmbeddedPostgresError(
      'PostgreSQL refuses to run as root, and there is no user reprise or nobody to run it as: create one, or start as another user.',
    )
  }
  return user
}

/** The user as which root runs a new database. */
export async function ownUser(): Promise<DatabaseUser | null> {
  return (await lookUp('reprise')) ?? (await makeUser()) ?? (await lookUp('nobody'))
}

export async function lookUp(name: string): Promise<DatabaseUser | null> {
  const ask = async (flag: string) => Number((await execute(systemProgram('id'), [flag, name], { env: {} })).stdout)
  try {
    return { uid: await ask('-u'), gid: await ask('-g') }
  } catch {
    return null
  }
}

async function makeUser(): Promise<DatabaseUser | null> {
  const attempts = [
    ['useradd', '--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin', 'reprise'],
    ['adduser', '-S', '-D', '-H', 'reprise'],
  ]
  for (const [file, ...args] of attempts) {
    // Two servers may try at once; all that matters is that the user exists afterwards.
    await execute(systemProgram(file!), args, { env: { PATH: systemPath() } }).catch(() => null)
    const user = await lookUp('reprise')
    if (user !== null) return user
  }
  return null
}
