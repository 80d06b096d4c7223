import { createHash } from 'node:crypto'
import { OUTPUT_DEPTH_MAX, OUTPUT_PATH_BYTES_MAX } from '../limits.ts'

/**
 * The outputs of an attempt: files that its program left, and that its agent sends to the servers when no process of
 * the kernel is left.
 *
 *   WAITING → COLLECTING → COMPLETE, PARTIAL or NONE → EXPIRED
 *   WAITING, COLLECTING → LOST: the agent is gone, or no longer has the files
 *   LOST, and NONE as long as no agent has begun → COLLECTING: the agent has returned with the files
 *
 * The agent moves them on, but for LOST, EXPIRED and the NONE of a program that never ran: these are set by the servers.
 * A crash of either side leaves COLLECTING, and the agent starts again.
 */
export const OUTPUTS_STATES = ['WAITING', 'COLLECTING', 'COMPLETE', 'PARTIAL', 'LOST', 'NONE', 'EXPIRED'] as const
export type OutputsState = (typeof OUTPUTS_STATES)[number]

/** Whether nothing more is expected, for now. */
export function areSettled(state: OutputsState): boolean {
  return state !== 'WAITING' && state !== 'COLLECTING'
}

export const OUTPUTS_WHEN = ['ALWAYS', 'SUCCESS', 'FAILURE'] as const
export type OutputsWhen = (typeof OUTPUTS_WHEN)[number]

/** What a session asks for. */
export interface OutputsRequest {
  /** Patterns in the syntax of `.gitignore`, relative to the working directory. */
  paths: string[]
  when: OutputsWhen
  /** Null for the default of the servers. */
  keepDays: number | null
  /** The files stay on the disk of their agent, and are only listed. Missing in requests of earlier versions. */
  inPlace?: boolean
}

/** Where outputs are that stay in place. */
export interface OutputsPlace {
  /** The agent's name. */
  node: string
  /** The directory of the files, as an absolute path on that machine. */
  directory: string
}

/** Files of another session's outputs, which are placed in the working directory before the program starts. */
export interface InputRequest {
  /** The chain whose attempt that succeeded has the files. */
  chainId: string
  /** A pattern in the syntax of `.gitignore`; null for all files. */
  match: string | null
  /** The directory to place them in, relative to the working directory; null for that directory itself. */
  to: string | null
}

/** One file or link. */
export interface OutputFile {
  /** Relative, with slashes. */
  path: string
  bytes: number
  /** As in `stat`: 0o100644, 0o100755, or 0o120777 for a link. */
  mode: number
  /** Of the content, or of a link's target. */
  sha256: string
  /** Null for a file. */
  target: string | null
  /** ISO 8601, by the agent's clock. */
  modifiedAt: string | null
}

export const FILE_MODE = 0o100_644
export const PROGRAM_MODE = 0o100_755
export const LINK_MODE = 0o120_777

export function isExecutable(mode: number): boolean {
  return mode === PROGRAM_MODE
}

/** The order of manifests: by the bytes of the paths, as in PostgreSQL's collation "C". */
export function byPath(a: { path: string }, b: { path: string }): number {
  return Buffer.compare(Buffer.from(a.path), Buffer.from(b.path))
}

/** Computes the id of outputs: the SHA-256 of the sorted list of their files. */
export function manifestId(): {
  add(file: Pick<OutputFile, 'path' | 'bytes' | 'mode' | 'sha256'>): void
  id(): string
} {
  const hash = createHash('sha256')
  return {
    add: ({ path, bytes, mode, sha256 }) => hash.update(`${JSON.stringify([path, bytes, mode, sha256])}\n`),
    id: () => hash.digest('hex'),
  }
}

/** Explains why this cannot be the path of an output; null if it can. */
export function outputPathFault(path: string): string | null {
  if (Buffer.byteLength(path) > OUTPUT_PATH_BYTES_MAX) return `its path has more than ${OUTPUT_PATH_BYTES_MAX} bytes`
  const parts = path.split('/')
  if (parts.length > OUTPUT_DEPTH_MAX) return `it is more than ${OUTPUT_DEPTH_MAX} directories deep`
  if (path.includes('\0') || !path.isWellFormed()) return 'its name is not valid text'
  return parts.some((part) => part === '' || part === '.' || part === '..') ? 'its path is not plain' : null
}

/**
 * Whether the target of a link, at this path, stays within the outputs. It may have `..` only at its beginning: after
 * another link, `..` leads to the parent of that link's target.
 */
export function staysInside(path: string, target: string): boolean {
  if (target === '' || target.startsWith('/') || target.includes('\0') || !target.isWellFormed()) return false
  const parts = target.split('/').filter((part) => part !== '' && part !== '.')
  const down = parts.findIndex((part) => part !== '..')
  const ups = down === -1 ? parts.length : down
  return !parts.slice(ups).includes('..') && ups < path.split('/').length
}

/** Explains why this cannot be a pattern; null if it can. */
export function outputPatternFault(pattern: string): string | null {
  const bare = pattern.startsWith('!') ? pattern.slice(1) : pattern
  if (bare.startsWith('/')) return 'must be relative to the working directory'
  if (bare.split('/').includes('..')) return 'must not contain ..'
  return /^[/!\s]*$/.test(bare) ? 'must name files' : null
}

/**
 * Creates a function that tells whether a path is selected by patterns in the syntax of `.gitignore`: the last pattern
 * that matches the path, or a directory above it, decides; one that begins with `!` excludes. The time is bounded by
 * the product of the lengths of pattern and path, because both come from strangers.
 */
export function createOutputMatcher(patterns: readonly string[]): (path: string) => boolean {
  const rules = patterns.map(parsePattern).toReversed()
  return (path) => {
    const parts = path.split('/')
    return rules.find((rule) => covers(rule, parts))?.selects ?? false
  }
}

interface Rule {
  selects: boolean
  /** It matches directories only, and so everything in them. */
  directory: boolean
  segments: Segment[]
}
type Segment = '**' | Token[]
type Token = '*' | ((char: string) => boolean)

function parsePattern(pattern: string): Rule {
  const selects = !pattern.startsWith('!')
  const bare = selects ? pattern : pattern.slice(1)
  const directory = bare.endsWith('/')
  const parts = bare.split('/').filter((part) => part !== '' && part !== '.')
  const segments = parts.map((part): Segment => (part === '**' ? '**' : tokensOf(part)))
  // A directory itself is not in `directory/**`.
  if (segments.length > 1 && segments.at(-1) === '**') segments.push(['*'])
  // Without a slash within, a name counts at every depth.
  const isAnchored = bare.replace(/\/$/, '').includes('/')
  return { selects, directory, segments: isAnchored ? segments : ['**', ...segments] }
}

function tokensOf(part: string): Token[] {
  const tokens: Token[] = []
  const chars = [...part]
  for (let at = 0; at < chars.length; at++) {
    const char = chars[at]!
    const end = char === '[' ? classEnd(chars, at) : -1
    if (char === '*') tokens.push('*')
    else if (char === '?') tokens.push(() => true)
    else if (end > 0) {
      tokens.push(classOf(chars.slice(at + 1, end)))
      at = end
    } else {
      const literal = char === '\\' && at + 1 < chars.length ? chars[++at]! : char
      tokens.push((given) => given === literal)
    }
  }
  return tokens
}

/** The index of the bracket that ends a class; -1 if there is none. */
function classEnd(chars: readonly string[], start: number): number {
  const first = chars[start + 1] === '!' || chars[start + 1] === '^' ? start + 2 : start + 1
  return chars.indexOf(']', first + 1)
}

function classOf(inside: readonly string[]): (char: string) => boolean {
  const isNegated = inside[0] === '!' || inside[0] === '^'
  const set = isNegated ? inside.slice(1) : inside
  const ranges: [string, string][] = []
  for (let at = 0; at < set.length; at++) {
    const isRange = set[at + 1] === '-' && at + 2 < set.length
    ranges.push([set[at]!, isRange ? set[at + 2]! : set[at]!])
    if (isRange) at += 2
  }
  return (char) => ranges.some(([from, to]) => from <= char && char <= to) !== isNegated
}

/** Whether the rule matches the path, or a directory above it. */
function covers({ segments, directory }: Rule, parts: readonly string[]): boolean {
  for (let length = 1; length < parts.length; length++) if (isMatch(segments, parts.slice(0, length))) return true
  return !directory && isMatch(segments, parts)
}

function isMatch(segments: readonly Segment[], parts: readonly string[]): boolean {
  return matches(segments, parts, (segment, part) => matches(segment, [...part], (token, char) => token(char)))
}

/** Matches items against a pattern with stars, going back to the last star only: an earlier one never helps. */
function matches<Item extends string, Each>(
  pattern: readonly ('*' | '**' | Each)[],
  items: readonly Item[],
  fits: (each: Exclude<Each, string>, item: Item) => boolean,
): boolean {
  let [at, star, resumed] = [0, -1, 0]
  let index = 0
  while (index < items.length) {
    const each = pattern[at]
    if (each === '*' || each === '**') {
      star = at++
      resumed = index
    } else if (each !== undefined && fits(each as Exclude<Each, string>, items[index]!)) {
      at++
      index++
    } else if (star >= 0) {
      at = star + 1
      index = ++resumed
    } else return false
  }
  while (pattern[at] === '*' || pattern[at] === '**') at++
  return at === pattern.length
}
