import { MOUNT_PATH_LENGTH_MAX } from '../limits.ts'

/** By which an agent offers a volume and sessions ask for it. */
export const VOLUME_NAME = /^[A-Za-z0-9][\w.-]{0,63}$/
export const VOLUME_NAME_RULE =
  'must be letters, digits, dots, hyphens and underscores, at most 64, beginning with a letter or digit'

/** A directory that agents have under a name, as kernels of a session see it. */
export interface Mount {
  volume: string
  /** Absolute. */
  path: string
  readOnly: boolean
}

/** What kernels have there themselves; the rest is the image's. */
const TAKEN = ['/work', '/chain', '/tmp', '/proc', '/sys', '/dev', '/run', '/var/run']

/** Where engines mount files of their own, for which they would leave empty files of root in the volume. */
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

/** Why nothing can be mounted there; null if it can. Safe in the terms of every engine. */
export function mountPathFault(path: string): string | null {
  if (path.length > MOUNT_PATH_LENGTH_MAX) return `must be at most ${MOUNT_PATH_LENGTH_MAX} characters`
  if (!/^(\/[A-Za-z0-9_.@+-]+)+$/.test(path) || path.split('/').some((part) => part === '.' || part === '..')) {
    return 'must be absolute, without . and .., of letters, digits and _ . @ + -'
  }
  const taken = TAKEN.find((place) => isWithin(path, place))
  if (taken !== undefined) return `${taken} is what kernels have there themselves`
  return OF_ENGINES.includes(path) ? `container engines mount files of their own at ${path}` : null
}

/** Another one of these that is mounted there, too, or above it. */
export function mountAbove(path: string, others: readonly string[]): string | undefined {
  return others.find((other) => isWithin(path, other))
}

function isWithin(path: string, place: string): boolean {
  return path === place || path.startsWith(`${place}/`)
}
