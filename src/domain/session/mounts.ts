import { MOUNT_PATH_LENGTH_MAX } from '../limits.ts'

/** The form of a volume's name. */
export const VOLUME_NAME = /^[A-Za-z0-9][\w.-]{0,63}$/
export const VOLUME_NAME_RULE =
  'must be letters, digits, dots, hyphens and underscores, at most 64, beginning with a letter or digit'

/** A volume, which is a named directory of agents, and its place in a session's kernels. */
export interface Mount {
  volume: string
  /** An absolute path in the kernel. */
  path: string
  readOnly: boolean
}

/** Directories that every kernel has already; all other paths belong to the image. */
const TAKEN = ['/work', '/chain', '/tmp', '/proc', '/sys', '/dev', '/run', '/var/run']

/**
 * Paths at which container engines mount their own files. With a volume mounted at such a path, the engine would create
 * empty root-owned files in the volume.
 */
const OF_ENGINES = [
  '/.dockerenv',
  '/bin',
  '/etc',
  '/etc/hostname',
  '/etc/hosts',
  '/etc/mtab',
  '/etc/passwd',
  '/etc/resolv.conf',
  '/sbin',
  '/usr',
  '/usr/bin',
  '/usr/sbin',
  '/var',
]

/**
 * Explains why nothing can be mounted at the path; null if a volume can. The allowed characters are safe in every
 * engine's syntax.
 */
export function mountPathFault(path: string): string | null {
  if (path.length > MOUNT_PATH_LENGTH_MAX) return `must be at most ${MOUNT_PATH_LENGTH_MAX} characters`
  if (!/^(\/[A-Za-z0-9_.@+-]+)+$/.test(path) || path.split('/').some((part) => part === '.' || part === '..')) {
    return 'must be absolute, without . and .., of letters, digits and _ . @ + -'
  }
  const taken = TAKEN.find((place) => isWithin(path, place))
  if (taken !== undefined) return `${taken} is used by the kernel itself`
  return OF_ENGINES.includes(path) ? `container engines mount files of their own at ${path}` : null
}

/** Finds another mount point that is equal to the path or above it. */
export function mountAbove(path: string, others: readonly string[]): string | undefined {
  return others.find((other) => isWithin(path, other))
}

function isWithin(path: string, place: string): boolean {
  return path === place || path.startsWith(`${place}/`)
}
