import { RepriseError } from '../domain/errors.ts'
import { BlobStoreAwayError } from './blob/blob-store.ts'
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
/**
 * The database was terminated by an administrator or a crash, is starting or stopping, or is out of connections; and
 * all of class 08.
 */
const SQL_STATE = /^(57P0[1-3]|53300|08\w{3})$/
/** Prisma's codes: unreachable, timed out, connection closed. */
const PRISMA = ['P1001', 'P1002', 'P1008', 'P1017']
const ADAPTER = ['DatabaseNotReachable', 'ConnectionClosed', 'TooManyConnections']
/** Messages of pg's errors that have no code. */
const WORDS =
  /^(Connection terminated|Cannot use a pool after calling end|Client has encountered a connection error|timeout exceeded when trying to connect|Query read timeout)/

/**
 * Node's message for a connection that could not be opened, also as part of Prisma's messages. The error's code is not
 * enough: for a Unix socket it may be ENOENT or EACCES, which have other causes too.
 */
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

/** Whether no connection could be opened, because nothing listens at that address, or the address does not exist. */
export function isUnreachable(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false
  const { syscall, errors = [], cause } = error as { syscall?: unknown; errors?: unknown[]; cause?: unknown }
  return syscall === 'connect' || syscall === 'getaddrinfo' || errors.some(isUnreachable) || isUnreachable(cause)
}

/** Finds an error of this program's read pool inside the error by which Prisma has replaced it. */
export function refusalOf(error: unknown): RepriseError | null {
  const cause = error instanceof Error ? error.cause : null
  return cause instanceof RepriseError ? cause : null
}

const QUERY_CANCELED = '57014'

/** Whether the database cancelled a statement because it took too long, or because its result was no longer needed. */
export function wasCancelled(error: unknown): boolean {
  if (typeof error !== 'object' || error === null || error instanceof RepriseError) return false
  const { code, originalCode, cause, meta, name } = error as Fault & { name?: unknown }
  if (code === QUERY_CANCELED || originalCode === QUERY_CANCELED || name === 'AbortError') return true
  // Prisma replaces the AbortError by its own error, which has only the code of the AbortError.
  if (code === DOMException.ABORT_ERR) return true
  return wasCancelled(cause) || wasCancelled(meta?.driverAdapterError)
}

export function tookTooLong(): RepriseError {
  const message = `That took longer than ${READ_TIMEOUT_MS / 1_000} s: ask for less, or narrow the filter.`
  return new RepriseError('REQUEST_TIMEOUT', message)
}

/** Codes for a full disk or an exhausted disk quota, by the system and by PostgreSQL. */
const DISK_FULL = ['ENOSPC', 'EDQUOT', '53100']

/** Whether an operation failed because a disk of the server or of its database is full. */
export function isDiskFull(error: unknown): boolean {
  if (typeof error !== 'object' || error === null || error instanceof RepriseError) return false
  const { code, originalCode, cause, meta } = error as Fault
  if ([code, originalCode].some((each) => typeof each === 'string' && DISK_FULL.includes(each))) return true
  return isDiskFull(cause) || isDiskFull(meta?.driverAdapterError)
}

/** Creates the error that callers get for a full disk, and counts it in the metrics. */
export function diskFull(): RepriseError {
  processFaults.diskFull += 1
  return new RepriseError('SERVER_DISK_FULL', 'A disk of the server is full. Try again once there is space.')
}

/** Whether an operation failed because of a full disk, or because the database stopped for that reason. */
export function isDiskFault(error: unknown): boolean {
  return isDiskFull(error) || (isDatabaseOutage(error) && isEmbeddedDiskFull())
}

/** Codes for too many open files, in this process or on the machine. */
const TOO_MANY_OPEN = ['EMFILE', 'ENFILE']

/**
 * Returns the error that callers get for a temporary failure outside of this program: no database, no bucket, a full
 * disk, too many open files. Null for other errors.
 */
export function outageOf(error: unknown): RepriseError | null {
  if (error instanceof BlobStoreAwayError)
    return new RepriseError('STORAGE_UNAVAILABLE', 'The bucket of REPRISE_BLOB_URL is unreachable at the moment.')
  if (isDatabaseOutage(error)) return databaseUnavailable()
  if (isDiskFull(error)) return diskFull()
  return hasTooManyOpen(error) ? tooManyOpen() : null
}

/** The error for an unreachable database; it names the full disk if that is the reason. */
export function databaseUnavailable(): RepriseError {
  return isEmbeddedDiskFull() ? diskFull() : databaseAway()
}

/**
 * The error for an unreachable database without the reason. Agents always get this one, because they repeat a
 * checkpoint's transfer after it, but end the transfer after SERVER_DISK_FULL.
 */
export function databaseAway(): RepriseError {
  return new RepriseError(
    'DATABASE_UNAVAILABLE',
    'The database is unreachable at the moment. Try again in a few seconds.',
  )
}

function isOutageCode(code: unknown): boolean {
  return typeof code === 'string' && (SOCKET.includes(code) || PRISMA.includes(code) || SQL_STATE.test(code))
}

/**
 * The error for too many open files. Only uploads and requests of agents open files; clients repeat both after this
 * error.
 */
function tooManyOpen(): RepriseError {
  return new RepriseError('TOO_MANY_REQUESTS', 'The server has too many files and connections open. Try again later.')
}

function hasTooManyOpen(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false
  const { code, cause } = error as Fault
  return (typeof code === 'string' && TOO_MANY_OPEN.includes(code)) || hasTooManyOpen(cause)
}
