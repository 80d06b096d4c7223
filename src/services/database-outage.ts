import { RepriseError } from '../domain/errors.ts'
import { isEmbeddedDiskFull, processFaults } from '../observability/process-events.ts'
import { READ_TIMEOUT_MS } from '../domain/limits.ts'

/** Socket errors, before or during a connection. */
const SOCKET = [
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]
/** Terminated by an administrator or a crash, starting or stopping, out of connections; and all of class 08. */
const SQL_STATE = /^(57P0[1-3]|53300|08\w{3})$/
/** Prisma's codes: unreachable, timed out, connection closed. */
const PRISMA = ['P1001', 'P1002', 'P1008', 'P1017']
const ADAPTER = ['DatabaseNotReachable', 'ConnectionClosed', 'TooManyConnections']
/** Messages of pg that have no code. */
const WORDS =
  /^(Connection terminated|Cannot use a pool after calling end|Client has encountered a connection error|timeout exceeded when trying to connect|Query read timeout)/

/** Of Node, also within an error of Prisma's; over a Unix socket its code is ENOENT or EACCES, too. */
const NO_CONNECTION = /^connect E[A-Z]+ /m

interface Fault {
  code?: unknown
  originalCode?: unknown
  kind?: unknown
  message?: unknown
  cause?: unknown
  meta?: { driverAdapterError?: unknown }
}

/** Whether an operation failed because the database was unreachable. */
export function isDatabaseOutage(error: unknown): boolean {
  if (typeof error !== 'object' || error === null || error instanceof RepriseError) return false
  const { code, originalCode, kind, message, cause, meta } = error as Fault
  if ([code, originalCode].some(isOutageCode)) return true
  if (typeof kind === 'string' && ADAPTER.includes(kind)) return true
  if (typeof message === 'string' && (WORDS.test(message) || NO_CONNECTION.test(message))) return true
  return isDatabaseOutage(cause) || isDatabaseOutage(meta?.driverAdapterError)
}

/** Whether no connection could be opened, as nobody listens at that address, or there is no such address. */
export function isUnreachable(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false
  const { syscall, errors = [], cause } = error as { syscall?: unknown; errors?: unknown[]; cause?: unknown }
  return syscall === 'connect' || syscall === 'getaddrinfo' || errors.some(isUnreachable) || isUnreachable(cause)
}

function isOutageCode(code: unknown): boolean {
  return typeof code === 'string' && (SOCKET.includes(code) || PRISMA.includes(code) || SQL_STATE.test(code))
}

/** What the connections of the API refused to read, as it comes through Prisma. */
export function refusalOf(error: unknown): RepriseError | null {
  const cause = error instanceof Error ? error.cause : null
  return cause instanceof RepriseError ? cause : null
}

const QUERY_CANCELED = '57014'

/** Whether the database ended a statement because it took too long, or because nobody waited for it any more. */
export function wasCancelled(error: unknown): boolean {
  if (typeof error !== 'object' || error === null || error instanceof RepriseError) return false
  const { code, originalCode, cause, meta, name } = error as Fault & { name?: unknown }
  if (code === QUERY_CANCELED || originalCode === QUERY_CANCELED || name === 'AbortError') return true
  // The same in an error of Prisma's, which keeps nothing of the other but its code.
  if (code === DOMException.ABORT_ERR) return true
  return wasCancelled(cause) || wasCancelled(meta?.driverAdapterError)
}

export function tookTooLong(): RepriseError {
  const message = `That took longer than ${READ_TIMEOUT_MS / 1_000} s: ask for less, or narrow the filter.`
  return new RepriseError('REQUEST_TIMEOUT', message)
}

/** No space, or no more of what the user may have; and what PostgreSQL says then. */
const DISK_FULL = ['ENOSPC', 'EDQUOT', '53100']

/** Whether an operation failed because a disk of the server or of its database is full. */
export function isDiskFull(error: unknown): boolean {
  if (typeof error !== 'object' || error === null || error instanceof RepriseError) return false
  const { code, originalCode, cause, meta } = error as Fault
  if ([code, originalCode].some((each) => typeof each === 'string' && DISK_FULL.includes(each))) return true
  return isDiskFull(cause) || isDiskFull(meta?.driverAdapterError)
}

/** The error that callers get, which counts as one more in the metrics. */
export function diskFull(): RepriseError {
  processFaults.diskFull += 1
  return new RepriseError('SERVER_DISK_FULL', 'A disk of the server is full. Try again once there is space.')
}

/** Whether an operation failed for want of space, or because the database has ended for want of space. */
export function isDiskFault(error: unknown): boolean {
  return isDiskFull(error) || (isDatabaseOutage(error) && isEmbeddedDiskFull())
}

/** No file can be opened: this process, or the machine, has as many open as it may have. */
const TOO_MANY_OPEN = ['EMFILE', 'ENFILE']

/** Only uploads and what agents fetch open files, and both may be repeated, as clients do after this. */
function tooManyOpen(): RepriseError {
  return new RepriseError('TOO_MANY_REQUESTS', 'The server has too many files and connections open. Try again later.')
}

function hasTooManyOpen(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false
  const { code, cause } = error as Fault
  return (typeof code === 'string' && TOO_MANY_OPEN.includes(code)) || hasTooManyOpen(cause)
}

/** The error that callers get for what is no fault of ours, and passes; null for other errors. */
export function outageOf(error: unknown): RepriseError | null {
  if (isDatabaseOutage(error)) return databaseUnavailable()
  if (isDiskFull(error)) return diskFull()
  return hasTooManyOpen(error) ? tooManyOpen() : null
}

/** The error that callers get, which tells of the disk where that is why. */
export function databaseUnavailable(): RepriseError {
  return isEmbeddedDiskFull() ? diskFull() : databaseAway()
}

/** For agents, which try again in either case: they give up a checkpoint for which a server has no space. */
export function databaseAway(): RepriseError {
  return new RepriseError(
    'DATABASE_UNAVAILABLE',
    'The database is unreachable at the moment. Try again in a few seconds.',
  )
}
