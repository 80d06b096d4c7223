import { messageOf } from '../../observability/error-message.ts'

const WAY_OUT = 'Or name a PostgreSQL server of your own in REPRISE_DATABASE_URL.'

const DISK_FULL = /ENOSPC|EDQUOT|No space left on device|Disk quota exceeded/i

/** Thrown if the embedded PostgreSQL cannot be used. The message explains the fault and how to fix it. */
export class EmbeddedPostgresError extends Error {
  /** `ENOSPC` if the cause is a full disk; PostgreSQL then works again once there is space. */
  readonly code?: string

  constructor(message: string, options?: { cause: unknown }) {
    super(`${message} ${WAY_OUT}`, options)
    this.name = 'EmbeddedPostgresError'
    if (DISK_FULL.test(message)) this.code = 'ENOSPC'
  }
}

const KNOWN: [pattern: RegExp, advice: string][] = [
  [DISK_FULL, 'The disk is full: free some space.'],
  [
    /EROFS|Read-only file system/i,
    'The file system is read-only: set REPRISE_DATA_DIR to a directory that can be written.',
  ],
  [
    /EACCES|EPERM|Permission denied/i,
    'Permission is missing: start as the user who owns the directory, or set REPRISE_DATA_DIR to a directory that you own.',
  ],
  [/Address already in use|could not bind/i, 'No free TCP port was found on 127.0.0.1: free one.'],
  [
    /could not (create|map|allocate).*shared memory|Cannot allocate memory/i,
    'Memory is short: give the server at least 512 MB.',
  ],
  [
    /error while loading shared libraries|Library not loaded|ENOEXEC/i,
    'The server program does not run on this system.',
  ],
  [/ENOENT/i, 'A file is missing: run `npm ci` again.'],
]

/** Wraps an error of the file system or of a PostgreSQL program, with one sentence of advice. */
export function explained(what: string, fault: unknown): EmbeddedPostgresError {
  if (fault instanceof EmbeddedPostgresError) return fault
  const text = messageOf(fault)
  const advice = KNOWN.find(([pattern]) => pattern.test(text))?.[1] ?? ''
  return new EmbeddedPostgresError(`${what}: ${text.trim()}\n${advice}`.trimEnd(), { cause: fault })
}
