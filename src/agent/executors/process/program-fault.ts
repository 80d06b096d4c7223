import {
  accessSync,
  closeSync,
  constants,
  fstatSync,
  openSync,
  readSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs'
import { delimiter, isAbsolute, join, resolve } from 'node:path'
import type { KernelSpec } from '../../../domain/agent/protocol.ts'
import type { FailureError } from '../../../domain/session/failure.ts'
import { chainDirectory } from '../chain/chain-directory.ts'
import { type PulledImage, pullImage, withInterpreter } from './image-preset.ts'
import { ancestors, EMPTY, isBelow } from './isolation/hidden-paths.ts'
import type { Namespaces } from './isolation/isolation.ts'
import type { ProcessHost, ProcessKernel } from './process-host.ts'

/** How a kernel sees the files of its machine. */
export interface FileView {
  /** Its working directory, to which relative names refer. */
  work: string
  /** Its chain's directory. */
  chain: string
  /** The user that its programs run as; null for the agent's own. */
  uid: number | null
  /** Null if it sees all files of the machine. */
  namespaces: Pick<Namespaces, 'mask' | 'hidden' | 'own'> | null
  /** How people know the machine. */
  machine: string
}

type Host = Pick<ProcessHost, 'path' | 'presets' | 'isolation' | 'chainsDir'>
type Kernel = Pick<ProcessKernel, 'spec' | 'path' | 'uid' | 'namespaced'>

/** A shell ends with these if it cannot run a command, and so does `env`. Programs may end with them as well. */
const NOT_RUN: readonly (number | null)[] = [126, 127]
/** Interpreters end with this if an option ends in a carriage return. */
const WRONG_USAGE = 2

/** Returns why the kernel's program could not be run, as text for people; null if it could. */
export function programFault(host: Host, kernel: Kernel, exitCode: number | null): string | null {
  const { presets, path, isolation } = host
  const { spec } = kernel
  const image = pullImage(presets, spec.image, path)
  if (typeof image === 'string') return null
  const namespaces = kernel.namespaced ? isolation.namespaces : null
  const view = { work: join(kernel.path, 'work'), chain: chainDirectory(host, spec), uid: kernel.uid, namespaces }
  return (
    faultOfCommand(spec, exitCode, { image, path, view: { ...view, machine: 'the agent’s machine' } })?.text ?? null
  )
}

/** Finds the same for the command of a session whose image is known; `path` is the default PATH of its kernels. */
export function faultOfCommand(
  spec: Pick<KernelSpec, 'environ' | 'command'>,
  exitCode: number | null,
  { image, path: ofAgent, view }: { image: PulledImage; path: string; view: FileView },
): ProgramFault | null {
  if (!NOT_RUN.includes(exitCode) && exitCode !== WRONG_USAGE) return null
  const ofSession = spec.environ.findLast(({ name }) => name === 'PATH')?.value
  const path = ofSession ?? image.environ['PATH'] ?? ofAgent
  const [program] = withInterpreter(image, spec.command, path)
  if (program === undefined) return null
  const fault = faultOf(program, path, ofSession === undefined ? 'agent’s' : 'session’s', view)
  return exitCode === WRONG_USAGE && fault?.kind !== 'line-ends' ? null : fault
}

/** Finds the same for any program. `owner` says whose PATH it is. */
export function faultOf(program: string, path: string, owner: string, view: FileView): ProgramFault | null {
  const isPath = program.includes('/')
  const places = isPath ? [resolve(view.work, program)] : path.split(delimiter).map((each) => join(each, program))
  const faults = places.map((place) => faultOfFile(place, isPath ? program : place, view))
  const found = faults.findIndex((fault) => fault === null)
  if (found >= 0) return interpreterFault(places[found]!, isPath ? program : places[found]!, path, view)
  const existing = faults.find((fault) => fault?.kind !== 'missing')
  if (existing != null) return existing
  if (!isPath) return { kind: 'missing', text: `command not found: ${program} is not on the ${owner} PATH` }
  const where = isAbsolute(program) ? `on ${view.machine}` : 'in the directory of its own in which it runs'
  return { kind: 'missing', text: `command not found: there is no ${program} ${where}` }
}

interface ProgramFault {
  kind: 'missing' | 'unusable' | 'line-ends'
  text: string
}

const UPLOAD = 'or send it with --upload'

/** @param name as people know the file */
function faultOfFile(file: string, name: string, view: FileView): ProgramFault | null {
  const stat = statIfReadable(file)
  if (stat === null) return { kind: 'missing', text: '' }
  const real = realpathSync(file)
  const hidden = hiddenBelow(file, view) ?? hiddenBelow(real, view)
  if (hidden !== null) {
    const why = EMPTY.includes(hidden) ? `which have their own ${hidden}` : `to which ${hidden} is hidden`
    return unusable(`there is no ${name} for kernels, ${why}. Move it to another directory, ${UPLOAD}`)
  }
  const closed = closedTo(real, stat, view.uid)
  if (closed !== null) {
    const cannot = `${name} cannot be run: the kernel’s user (${view.uid}) may not`
    if (closed === real) return unusable(`${cannot} run it. Allow that with chmod o+rx, ${UPLOAD}`)
    return unusable(`${cannot} enter ${closed}. Move it to a directory that everybody may enter, ${UPLOAD}`)
  }
  if (stat.isDirectory()) return unusable(`${name} is no program: it is a directory`)
  if (!stat.isFile() || (stat.mode & 0o111) === 0 || (view.uid === null && !mayExecute(file)))
    return unusable(`${name} is no program: it is not executable. chmod +x makes it so`)
  return null
}

function unusable(text: string): ProgramFault {
  return { kind: 'unusable', text }
}

/** Returns the directory above that kernels do not see; null if they see the file. */
function hiddenBelow(file: string, { work, chain, namespaces }: FileView): string | null {
  if (namespaces === null || [work, chain].some((own) => isBelow(file, own))) return null
  const { mask, hidden, own } = namespaces
  if (own?.names.some((name) => isBelow(file, join(own.root, name))) === true) return null
  const all = [...EMPTY, mask, ...hidden.map(({ path }) => path)]
  return all.find((directory) => file === directory || isBelow(file, directory)) ?? null
}

/** Returns the first directory that this user may not enter, or the file itself; null if the user may execute it. */
function closedTo(real: string, stat: Stats, uid: number | null): string | null {
  if (uid === null) return null
  const mayPass = ({ uid: owner, mode }: Stats) => (mode & (owner === uid ? 0o100 : 0o001)) !== 0
  const directory = ancestors(real).find((each) => !mayPass(statSync(each)))
  if (directory !== undefined) return directory
  return stat.isFile() && (stat.mode & 0o111) !== 0 && !mayPass(stat) ? real : null
}

/** Explains why an executable file cannot be started: its interpreter or its loader. */
function interpreterFault(file: string, name: string, path: string, view: FileView): ProgramFault | null {
  const head = readHead(file)
  const loader = loaderOf(head)
  if (loader !== null) {
    const text = `${name} cannot be run: it needs the loader ${loader}, which is not on ${view.machine}`
    return isThere(loader, view) ? null : unusable(text)
  }
  const line = firstLineOf(head)
  if (line === null) return null
  if (line.endsWith('\r')) return { kind: 'line-ends', text: lineEndsText(name) }
  const [interpreter = '', ...words] = line.trim().split(/[ \t]+/)
  if (!isThere(interpreter, view)) return noInterpreter(name, interpreter, 'which kernels do not find')
  if (!interpreter.endsWith('/env')) return null
  const wanted = words.find((word) => !word.startsWith('-') && !word.includes('='))
  if (wanted === undefined || wanted.includes('/')) return null
  const found = path.split(delimiter).some((each) => isThere(join(each, wanted), view))
  return found ? null : noInterpreter(name, wanted, 'which is not on the PATH')
}

/** Returns the line that names the interpreter, without its first two characters; null if there is none. */
function firstLineOf(head: Buffer): string | null {
  return head.toString('latin1', 0, 2) === '#!' ? head.toString('utf8', 2).split('\n', 1)[0]! : null
}

function lineEndsText(name: string): string {
  return `${name} cannot be run: its lines end with a carriage return, as on Windows. Remove them: sed -i 's/\\r$//' ${name}`
}

/** Returns why an uploaded program cannot be run, if its lines end as on Windows; null if they do not. */
export function lineEndsFault(file: string, name: string): string | null {
  return firstLineOf(readHead(file))?.endsWith('\r') === true ? lineEndsText(name) : null
}

function noInterpreter(name: string, interpreter: string, why: string): ProgramFault {
  return unusable(`${name} cannot be run: its first line names the interpreter ${interpreter}, ${why}`)
}

function isThere(file: string, view: FileView): boolean {
  return faultOfFile(resolve(view.work, file), file, view) === null
}

/** Returns the dynamic loader that a 64-bit program of this machine's byte order names; null if there is none. */
function loaderOf(head: Buffer): string | null {
  if (head.toString('latin1', 0, 6) !== '\x7fELF\x02\x01' || head.length < 64) return null
  const [start, size, count] = [Number(head.readBigUInt64LE(32)), head.readUInt16LE(54), head.readUInt16LE(56)]
  for (let at = start; at < start + count * size && at + 40 <= head.length; at += size) {
    if (head.readUInt32LE(at) !== PT_INTERP) continue
    const [offset, length] = [Number(head.readBigUInt64LE(at + 8)), Number(head.readBigUInt64LE(at + 32))]
    return offset + length <= head.length ? head.toString('utf8', offset, offset + length - 1) : null
  }
  return null
}

const PT_INTERP = 3
const HEAD_BYTES = 4_096

/** Returns the first bytes; none if it cannot be read, or is no regular file. */
function readHead(file: string): Buffer {
  let fd: number | undefined
  try {
    fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
    if (!fstatSync(fd).isFile()) return Buffer.alloc(0)
    const buffer = Buffer.alloc(HEAD_BYTES)
    return buffer.subarray(0, readSync(fd, buffer, 0, HEAD_BYTES, 0))
  } catch {
    return Buffer.alloc(0)
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

function statIfReadable(file: string): Stats | null {
  try {
    return statSync(file)
  } catch {
    return null
  }
}

function mayExecute(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** The path is the last one on the line, or the only one after the words. */
const READ_ONLY_LINE = /^.*read-only file system.*$/gim
const PATH_IN_TEXT = /(?<![\w.-])\/[^\s'"’`:,;)\]]+/g

/**
 * Explains a failure whose last output says that a file system is read-only: to kernels with a mount namespace,
 * everything but their own directories is.
 *
 * @param output the end of its standard error
 */
export function readOnlyFailure(output: string, exitCode: number): FailureError | null {
  const line = output.match(READ_ONLY_LINE)?.at(-1)
  const path = line?.match(PATH_IN_TEXT)?.at(-1)
  if (path === undefined) return null
  const where = 'Write to the working directory, $TMPDIR or $REPRISE_CHAIN_DIR'
  const message = `could not write ${path}: kernels can only read there, as in home directories. ${where}`
  return { name: 'path-read-only', message, exitCode }
}
