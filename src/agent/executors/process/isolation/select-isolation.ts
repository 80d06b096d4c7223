import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { systemPath, systemProgram } from '../../../../machine/system-programs.ts'
import { quote } from '../shell.ts'
import { INFO_FD, launchCommand } from './launch-command.ts'
import { coverable, hiddenPaths, isOpenToAll, maskFor, ownPrograms } from './hidden-paths.ts'
import { type Isolation, type IsolationMode, isolationName, type KernelPlaces, NO_ISOLATION } from './isolation.ts'
import { setIds } from './drop-privileges.ts'
import { forkServerEntry } from './fork-server-entry.ts'
import { DEFAULT_UIDS, openProjectUids, type UidRange } from './project-uids.ts'

const PROBE_TIMEOUT_MS = 10_000

export interface IsolationOptions {
  mode: IsolationMode
  /** Data directory of the server or the agent, which is hidden from kernels as a whole. */
  dataDir: string
  /** Equal to `dataDir` or below it. */
  agentDir: string
  /** If undefined, the default range. */
  uids?: UidRange | undefined
  /** Further files and directories that no kernel may see. */
  hide: readonly string[]
  /** The server's own package. If undefined, the package of this code. */
  root?: string
}

export interface SelectedIsolation {
  isolation: Isolation
  name: string
  /** Null for no isolation. */
  way: Way | null
  /** Why stronger isolations do not work here, one sentence each. */
  faults: string[]
  /** The faults after which the isolation may still work, such as a full disk or a slow probe. */
  unanswered: string[]
}

/**
 * Finds the strongest isolation that works by running a probe through the real command line of each. The probe detects
 * programs that are not installed, and what the operating system, its hardening or a container around it forbids.
 * Returns `none` if none works.
 */
export async function selectIsolation(options: IsolationOptions): Promise<SelectedIsolation> {
  const { mode } = options
  const faults: string[] = []
  const unanswered: string[] = []
  for (const way of mode === 'none' ? [] : waysOf(mode)) {
    const found = await findIsolation({ ...options, ...way })
    if ('isolation' in found) return { ...found, name: isolationName(found.isolation), way, faults, unanswered }
    const fault = `${way.by === null ? 'user' : `namespaces by ${way.by}`}: ${found.fault}`
    faults.push(fault)
    if (!found.isAnswer) unanswered.push(fault)
  }
  return { isolation: NO_ISOLATION, name: 'none', way: null, faults, unanswered }
}

export const ADVICE =
  'Install bubblewrap (the package of that name), or util-linux 2.38 or later with unshare and setpriv; ' +
  'docs/executors.md says under "Isolation" what else the system must allow.'

/** One way to isolate kernels, which may or may not work on this machine. */
export interface Way {
  by: 'bubblewrap' | 'unshare' | null
  withUids: boolean
}

/** Lists the ways, the strongest first. */
export function waysOf(mode: 'auto' | 'namespaces' | 'user'): Way[] {
  const withUids = process.getuid?.() === 0
  const namespaces: Way[] = [
    { by: 'bubblewrap', withUids },
    { by: 'unshare', withUids },
  ]
  const user: Way = { by: null, withUids: true }
  if (mode === 'user') return [user]
  return mode === 'auto' && withUids ? [...namespaces, user] : namespaces
}

export interface IsolationFault {
  fault: string
  /** True if the isolation does not work here, false if it could not be tried. */
  isAnswer: boolean
}

/** @returns why it does not work, or the isolation that works */
export async function findIsolation(
  options: Omit<IsolationOptions, 'mode'> & Way,
): Promise<IsolationFault | { isolation: Isolation }> {
  const { agentDir } = options
  let directory: string | undefined
  try {
    mkdirSync(agentDir, { recursive: true, mode: 0o700 })
    directory = join(realpathSync(agentDir), `probe-${randomBytes(6).toString('hex')}`)
    const isolation = makeIsolation(options)
    if (isolation.uids !== null && isolation.namespaces === null) openWay(options)
    return (await probe(isolation, directory)) ?? { isolation }
  } catch (error) {
    const { message: fault, code = '' } = error as NodeJS.ErrnoException
    return { fault, isAnswer: !UNRELATED_CODES.includes(code) && !(error instanceof UnansweredError) }
  } finally {
    if (directory !== undefined) rmSync(directory, { recursive: true, force: true })
  }
}

/** Errors of a disk, or of limits of the process or machine: another try may succeed. */
const UNRELATED_CODES = [
  'ENOSPC',
  'EDQUOT',
  'EROFS',
  'EIO',
  'EMFILE',
  'ENFILE',
  'ENOMEM',
  'EAGAIN',
  'EBUSY',
  'ETIMEDOUT',
]
/** The same errors in the words of programs. */
const UNRELATED_WORDS =
  /No space left on device|Disk quota exceeded|Read-only file system|Input\/output error|Too many open files|Cannot allocate memory|Resource temporarily unavailable|Device or resource busy/i

/** The isolation could not be tried. */
class UnansweredError extends Error {}

/** @throws if this user cannot create such an isolation */
export function makeIsolation(options: Parameters<typeof findIsolation>[0]): Isolation {
  const { by, withUids, dataDir, agentDir, uids, root } = options
  if (withUids && process.getuid?.() !== 0) throw new Error('only root can give projects user ids of their own')
  const projectUids = withUids ? openProjectUids(agentDir, usableRange(uids)) : null
  const numericIds = projectUids !== null && setsIds(projectUids.of(null))
  if (by === null) return { namespaces: null, uids: projectUids, numericIds }
  const canEnter = withUids ? isOpenToAll : () => true
  const mask = maskFor(realpathSync(dataDir), canEnter)
  const secret = hiddenPaths(options.hide, mask)
  const own = ownPrograms({ mask, hidden: secret, canEnter, root })
  const hidden = coverable(secret, canEnter, [mask, ...(own?.empties === true ? [own.within] : [])])
  const restricts = by === 'bubblewrap' && isRecent()
  return { namespaces: { by, mask, hidden, own, restricts }, uids: projectUids, numericIds }
}

/** Whether `unshare` can set user ids, as util-linux 2.34 and later can. */
function setsIds(uid: number): boolean {
  const [program = '', ...args] = setIds(uid)
  return (
    spawnSync(program, [...args, '/bin/sh', '-c', ':'], { stdio: 'ignore', env: { PATH: systemPath() } }).status === 0
  )
}

/** Whether this bubblewrap has version 0.8 or later. */
function isRecent(): boolean {
  const { stdout, error } = spawnSync(systemProgram('bwrap'), ['--version'], { encoding: 'latin1', env: {} })
  if (error !== undefined && (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  const [, major, minor] = /(\d+)\.(\d+)/.exec(stdout ?? '') ?? []
  return Number(major) > 0 || Number(minor) >= 8
}

/** @throws if another user has one of these ids */
function usableRange(configured: UidRange | undefined): UidRange {
  const range = configured ?? (isMapped(DEFAULT_UIDS) ? DEFAULT_UIDS : { first: 30_000, last: 59_999 })
  const { first, last } = range
  const taken = readFileSync('/etc/passwd', 'latin1')
    .split('\n')
    .map((line) => line.split(':'))
    .find(([, , uid]) => Number(uid) >= first && Number(uid) <= last)
  if (taken !== undefined) throw new Error(`REPRISE_ISOLATION_UIDS ${first}-${last} includes the user ${taken[0]}`)
  return range
}

/** Whether these ids exist here: root in a container may have only a few user ids. */
function isMapped({ first, last }: UidRange): boolean {
  const lines = readFileSync('/proc/self/uid_map', 'latin1').trim().split('\n')
  return lines.some((line) => {
    const [from = 0, , count = 0] = line.trim().split(/\s+/).map(Number)
    return first >= from && last < from + count
  })
}

/** Lets other users pass through these directories, but not list them. Each entry in them has its own mode. */
function openWay({ dataDir, agentDir }: { dataDir: string; agentDir: string }): void {
  for (const path of new Set([dataDir, agentDir])) {
    if ((statSync(path).mode & 0o777) !== 0o711) chmodSync(path, 0o711)
  }
}

async function probe(isolation: Isolation, directory: string): Promise<IsolationFault | null> {
  const uid = isolation.uids?.of(null) ?? null
  const [work, tmp, chain] = ['work', 'tmp', 'chain'].map((name) => join(directory, name)) as [string, string, string]
  mkdirSync(directory, { mode: 0o711 })
  for (const path of [work, tmp, chain]) {
    mkdirSync(path, { mode: 0o700 })
    if (uid !== null) chownSync(path, uid, uid)
  }
  const places: KernelPlaces = {
    work,
    tmp,
    chain,
    uid,
    shmBytes: 1024 * 1024,
    chains: null,
    devices: [],
    closedDevices: [],
    deviceGroups: [],
  }
  const command = [...forkServerEntry(isolation, directory), ...launchCommand({ isolation, places })]
  const said = await run(command, probeScript(isolation, places), work)
  if (said !== null) return said
  const owner = statSync(join(chain, 'probe'), { throwIfNoEntry: false })?.uid
  if (owner === (uid ?? process.getuid?.())) return null
  return { fault: 'the probe left nothing, or as another user', isAnswer: true }
}

function probeScript({ namespaces }: Isolation, { work, chain }: KernelPlaces): string {
  const first = namespaces === null ? '' : '[ $$ = 1 ] || exit 101\n'
  return `${first}cd ${quote(work)} && echo >probe || exit 102
echo >${quote(join(chain, 'probe'))} || exit 103
exit 0
`
}

/** @returns null if the program ended with 0, else its error */
async function run([program = '', ...args]: string[], script: string, cwd: string): Promise<IsolationFault | null> {
  const nowhere = openSync('/dev/null', 'r+')
  const unused = Array.from({ length: INFO_FD - 3 }, () => 'ignore' as const)
  const stdio = ['pipe', 'ignore', 'pipe', ...unused, nowhere] as const
  let child: ChildProcess
  try {
    child = spawn(program, args, { cwd, env: { PATH: systemPath() }, stdio: [...stdio] })
  } finally {
    closeSync(nowhere)
  }
  const ended = new Promise<NodeJS.ErrnoException | number | string | null>((resolve) => {
    child.once('error', resolve)
    child.once('close', (code, signal) => resolve(code ?? signal))
  })
  if (!child.stdin) throw (await ended) as Error
  // The `timeout` option of `spawn` is not used: with it, a missing program would be waited for.
  const overdue = setTimeout(() => child.kill('SIGKILL'), PROBE_TIMEOUT_MS)
  child.stdin.on('error', () => undefined).end(script)
  const [stderr, end] = await Promise.all([text(child.stderr!).catch(() => ''), ended])
  clearTimeout(overdue)
  if (end === 0) return null
  if (end instanceof Error) {
    if (end.code !== 'ENOENT') throw end
    return { fault: `${basename(program)} is not installed`, isAnswer: true }
  }
  if (end === 'SIGKILL') throw new UnansweredError(`it took longer than ${PROBE_TIMEOUT_MS / 1000} s, or was killed`)
  const fault = `${stderr.trim().split('\n')[0] || 'it'} (ended with ${end})`
  return { fault, isAnswer: !UNRELATED_WORDS.test(stderr) }
}
