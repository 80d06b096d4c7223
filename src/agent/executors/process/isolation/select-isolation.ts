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
  /** Of the server or the agent: hidden from kernels as a whole. */
  dataDir: string
  /** Within `dataDir`, or the same. */
  agentDir: string
  /** Undefined: the default range. */
  uids?: UidRange | undefined
  /** Further files and directories that no kernel may see. */
  hide: readonly string[]
  /** The server's own package; undefined: this one. */
  root?: string
}

export interface SelectedIsolation {
  isolation: Isolation
  name: string
  /** Null: there is none. */
  way: Way | null
  /** Why stronger ones do not work here; each one sentence. */
  faults: string[]
  /** Of these, those that say nothing about whether it works: the disk is full, or the probe took too long. */
  unanswered: string[]
}

/**
 * The strongest isolation that works, found by running a probe through each one's real command line. It catches what is
 * not installed, and what the operating system, its hardening or a container around it forbids. `none` if none does.
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

/** The strongest first. */
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
  /** Whether it tells that this isolation does not work here, rather than that it could not be tried. */
  isAnswer: boolean
}

/** @returns why it does not work, or what works */
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

/** Faults of a disk, and of what a process or a machine may have at once: another try may find something else. */
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
/** The same as programs report them. */
const UNRELATED_WORDS =
  /No space left on device|Disk quota exceeded|Read-only file system|Input\/output error|Too many open files|Cannot allocate memory|Resource temporarily unavailable|Device or resource busy/i

/** It could not be tried. */
class UnansweredError extends Error {}

/** @throws if this user can have none of that kind */
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

/** From util-linux 2.34 on. */
function setsIds(uid: number): boolean {
  const [program = '', ...args] = setIds(uid)
  return (
    spawnSync(program, [...args, '/bin/sh', '-c', ':'], { stdio: 'ignore', env: { PATH: systemPath() } }).status === 0
  )
}

/** From version 0.8 on. */
function isRecent(): boolean {
  const { stdout, error } = spawnSync(systemProgram('bwrap'), ['--version'], { encoding: 'latin1', env: {} })
  if (error !== undefined && (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  const [, major, minor] = /(\d+)\.(\d+)/.exec(stdout ?? '') ?? []
  return Number(major) > 0 || Number(minor) >= 8
}

/** @throws if somebody else has one of them */
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

/** Root of a container may have but few user ids. */
function isMapped({ first, last }: UidRange): boolean {
  const lines = readFileSync('/proc/self/uid_map', 'latin1').trim().split('\n')
  return lines.some((line) => {
    const [from = 0, , count = 0] = line.trim().split(/\s+/).map(Number)
    return first >= from && last < from + count
  })
}

/** Other users may pass through these directories, but not list them, and each thing in them has its own mode. */
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

/** @returns null if it ended with 0, else what it said */
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
  // Not the option of `spawn`: that one keeps a program that is not installed waiting.
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
