import { createHash } from 'node:crypto'

/**
 * Stores blobs: bytes named by their SHA-256 within a project. A blob arrives in parts, whose order is fixed by their
 * offsets, and becomes visible only once it is complete and its hash is checked. A directory and a bucket of S3 have
 * the same contract. All servers of a database share one store; they may write to it at once.
 */
export interface BlobStore {
  /** Where the blobs are, for people: the variable that names it. */
  readonly place: string
  /** Returns those of these blobs that are stored whole. */
  has(projectId: string, sha256s: readonly string[]): Promise<Set<string>>
  /** Bytes of an unfinished blob that have arrived, from the beginning without a gap; 0 if none. */
  received(key: BlobKey): Promise<number>
  /**
   * Appends a part of BLOB_PART_BYTES; only the last may have less. It is kept completely or not at all.
   *
   * @returns the bytes received so far
   * @throws BlobOffsetError if `offset` is not the end of the bytes received so far
   */
  putPart(key: BlobKey, offset: number, part: Uint8Array): Promise<number>
  /**
   * Checks size and hash, and makes the blob visible. Idempotent.
   *
   * @throws BlobOffsetError if bytes are missing
   * @throws BlobDamagedError if the hash is another one; all parts are discarded
   */
  finish(key: BlobKey, bytes: number): Promise<void>
  /**
   * Stores a whole small blob at once, of at most BLOB_PART_BYTES. Idempotent.
   *
   * @throws BlobDamagedError
   */
  put(key: BlobKey, bytes: Uint8Array): Promise<void>
  /**
   * Opens a blob that is stored whole; null if there is none. `from` and `to` are in bytes, `to` is exclusive. The
   * returned `bytes` is the number of bytes that `chunks` yields.
   */
  open(key: BlobKey, range?: BlobRange): Promise<OpenedBlob | null>
  /** A URL with which a client can read the blob from the bucket itself; null where there is none. */
  link(key: BlobKey, options: { fileName: string; withinS: number }): Promise<string | null>
  /** Removes the blob and its unfinished parts. */
  remove(key: BlobKey): Promise<void>
  /** Projects that have blobs. */
  projects(): Promise<string[]>
  /** Lists the blobs of a project, also unfinished ones. `modifiedAt` is by the clock of the store. */
  list(projectId: string): AsyncIterable<ListedBlob>
  /**
   * Removes what crashes have left and no blob of `list` accounts for: temporary files, multipart uploads.
   *
   * @param ageMs what was written to within this time is kept
   * @returns the number of removals
   */
  removeLeftovers(ageMs: number): Promise<number>
}

export interface BlobKey {
  projectId: string
  sha256: string
}

export interface BlobRange {
  from: number
  to?: number
}

export interface OpenedBlob {
  bytes: number
  chunks: AsyncIterable<Uint8Array>
}

export interface ListedBlob {
  sha256: string
  bytes: number
  modifiedAt: Date
  complete: boolean
}

/** The bytes have another hash, or are more than announced: they were damaged on the way, or have changed. */
export class BlobDamagedError extends Error {
  constructor(found: string) {
    super(`its SHA-256 is ${found}: it was damaged on the way, or files have changed`)
  }
}

export class BlobOffsetError extends Error {
  readonly received: number

  constructor(received: number) {
    super(`the next part begins at ${received}`)
    this.received = received
  }
}

/** The store does not answer, or answers with a fault of its own. Nothing is lost; a later try may succeed. */
export class BlobStoreAwayError extends Error {}

export const SHA256 = /^[0-9a-f]{64}$/

export function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** @throws BlobDamagedError */
export function assertHash({ sha256 }: Pick<BlobKey, 'sha256'>, found: string): void {
  if (found !== sha256) throw new BlobDamagedError(found)
}

export async function hashOf(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of chunks) hash.update(chunk)
  return hash.digest('hex')
}

/** Runs work on the same blob one after the other, within this process. */
export function createTurns(): <T>(key: BlobKey, work: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>()
  return async (key, work) => {
    const name = nameOf(key)
    const before = last.get(name)
    const own = (before ?? Promise.resolve()).then(work, work)
    last.set(name, own)
    try {
      return await own
    } finally {
      if (last.get(name) === own) last.delete(name)
    }
  }
}

/** Unfinished blobs of which a process remembers something. Others are read again from the store. */
const REMEMBERED_MAX = 256

/** Remembers a value for each of the latest blobs. */
export function createMemory<T>(): {
  get(key: BlobKey): T | undefined
  set(key: BlobKey, value: T): void
  delete(key: BlobKey): void
} {
  const known = new Map<string, T>()
  return {
    get: (key) => known.get(nameOf(key)),
    set(key, value) {
      known.delete(nameOf(key))
      known.set(nameOf(key), value)
      if (known.size > REMEMBERED_MAX) known.delete(known.keys().next().value!)
    },
    delete: (key) => void known.delete(nameOf(key)),
  }
}

function nameOf({ projectId, sha256 }: BlobKey): string {
  return `${projectId}/${sha256}`
}
