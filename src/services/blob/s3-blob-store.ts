import { createHash, type Hash } from 'node:crypto'
import { validate as isUuid } from 'uuid'
import { BLOB_PART_BYTES } from '../../domain/limits.ts'
import {
  assertHash,
  BlobDamagedError,
  type BlobKey,
  BlobOffsetError,
  type BlobStore,
  createMemory,
  createTurns,
  hashOf,
  type ListedBlob,
  SHA256,
  sha256Of,
} from './blob-store.ts'
import { createS3Requests, elementsOf, type S3Options, S3Refusal, textsOf } from './s3-requests.ts'

/**
 * Blobs in a bucket, as `<prefix>/<project id>/<SHA-256>`. A blob of several parts is a multipart upload. Beside it,
 * `<SHA-256>.upload` has the upload's id and its parts, so that any server can continue it, and the sweep can abort it.
 * As long as this object exists, the blob does not count as stored: its upload may be completed before its hash is
 * checked, if the server that completes it has not seen all parts.
 */
export function createS3BlobStore(options: S3Options): BlobStore {
  const s3 = createS3Requests(options)
  const inTurn = createTurns()
  const hashes = createMemory<{ hash: Hash; parts: string }>()
  const nameOf = ({ projectId, sha256 }: BlobKey) => `${projectId}/${sha256}`
  const stateOf = (key: BlobKey) => `${nameOf(key)}.upload`
  const remove = (key: string) => s3.find({ method: 'DELETE', key })

  async function readState(key: BlobKey): Promise<Upload | null> {
    const found = await s3.find({ method: 'GET', key: stateOf(key) })
    return found && ((await found.json()) as Upload)
  }

  async function writeState(key: BlobKey, upload: Upload): Promise<void> {
    await s3.send({ method: 'PUT', key: stateOf(key), body: JSON.stringify(upload) })
  }

  async function begin(key: BlobKey): Promise<Upload> {
    const query = { uploads: '' }
    const answer = await s3.send({ method: 'POST', key: nameOf(key), query, headers: { [IN_PARTS]: 'yes' } })
    const upload = { id: textsOf(await answer.text(), 'UploadId')[0]!, parts: [] }
    await writeState(key, upload)
    return upload
  }

  /** Forgets an upload that cannot be continued, and everything it left. */
  async function discard(key: BlobKey, upload: Upload): Promise<void> {
    hashes.delete(key)
    await abort(nameOf(key), upload.id)
    await remove(nameOf(key))
    await remove(stateOf(key))
  }

  async function abort(name: string, uploadId: string): Promise<void> {
    await s3.find({ method: 'DELETE', key: name, query: { uploadId } }).catch(ifNotOffered)
  }

  /** @throws BlobOffsetError if the service does not know the upload or its parts any more */
  async function complete(key: BlobKey, upload: Upload): Promise<void> {
    const parts = upload.parts.map(
      ({ etag }, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>${etag}</ETag></Part>`,
    )
    const body = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`
    const query = { uploadId: upload.id }
    try {
      const answer = await s3.send({ method: 'POST', key: nameOf(key), query, body })
      // A fault that occurs after a while comes with the status 200.
      const text = await answer.text()
      if (text.includes('<Error>')) throw new S3Refusal(`completing ${nameOf(key)}`, answer.status, text)
    } catch (error) {
      if (!(error instanceof S3Refusal) || (error as { code: string }).code === 'ENOSPC') throw error
      // Completed before, by a server that could not note it.
      hashes.delete(key)
      if (error.status === 404 && (await headOf(key)) !== null) return
      await discard(key, upload)
      throw new BlobOffsetError(0)
    }
  }

  async function headOf(key: BlobKey): Promise<Response | null> {
    return s3.find({ method: 'HEAD', key: nameOf(key) })
  }

  async function isWhole(key: BlobKey, found: Response): Promise<boolean> {
    if (!found.headers.has(IN_PARTS)) return true
    return (await s3.find({ method: 'HEAD', key: stateOf(key) })) === null
  }

  async function isStored(key: BlobKey): Promise<boolean> {
    const found = await headOf(key)
    return found !== null && isWhole(key, found)
  }

  async function put(key: BlobKey, bytes: Uint8Array): Promise<void> {
    assertHash(key, sha256Of(bytes))
    if (await isStored(key)) return
    await s3.send({ method: 'PUT', key: nameOf(key), body: bytes, headers: { [CONTENT_HASH]: key.sha256 } })
  }

  async function* pagesOf(query: Record<string, string>): AsyncGenerator<string, void> {
    const prefix = options.prefix === '' ? '' : `${options.prefix}/`
    let token: string | undefined
    do {
      const asked = { 'list-type': '2', ...query, prefix: `${prefix}${query['prefix'] ?? ''}` }
      const page = { ...asked, ...(token !== undefined && { 'continuation-token': token }) }
      const xml = await (await s3.send({ method: 'GET', key: null, query: page })).text()
      yield xml
      token = textsOf(xml, 'NextContinuationToken')[0]
    } while (token !== undefined)
  }

  return {
    place: 'REPRISE_BLOB_URL',
    async has(projectId, sha256s) {
      const stored = new Set<string>()
      for (let at = 0; at < sha256s.length; at += AT_ONCE) {
        const some = sha256s.slice(at, at + AT_ONCE)
        const found = await Promise.all(some.map((sha256) => isStored({ projectId, sha256 })))
        for (const [index, sha256] of some.entries()) if (found[index]) stored.add(sha256)
      }
      return stored
    },
    received: async (key) => bytesOf(await readState(key)),
    putPart: (key, offset, part) =>
      inTurn(key, async () => {
        const upload = await readState(key)
        if (bytesOf(upload) !== offset) throw new BlobOffsetError(bytesOf(upload))
        const { id, parts } = upload ?? (await begin(key))
        if (parts.length >= PARTS_MAX) throw new Error(`a blob in S3 has at most ${PARTS_MAX * BLOB_PART_BYTES} bytes`)
        const known = hashes.get(key)
        const isKnown = known !== undefined && known.parts === idOf(parts)
        const hash = offset === 0 ? createHash('sha256') : isKnown ? known.hash : null
        hashes.delete(key)
        const query = { partNumber: String(parts.length + 1), uploadId: id }
        const headers = { [CONTENT_HASH]: sha256Of(part) }
        const sent = await s3.find({ method: 'PUT', key: nameOf(key), query, headers, body: part })
        if (sent === null) {
          await discard(key, { id, parts })
          throw new BlobOffsetError(0)
        }
        const all = [...parts, { etag: sent.headers.get('etag')!, bytes: part.length }]
        await writeState(key, { id, parts: all })
        if (hash !== null) hashes.set(key, { hash: hash.update(part), parts: idOf(all) })
        return offset + part.length
      }),
    finish: (key, bytes) =>
      inTurn(key, async () => {
        const upload = await readState(key)
        if (upload === null && (await headOf(key)) !== null) return
        if (upload === null || bytesOf(upload) < bytes) throw new BlobOffsetError(bytesOf(upload))
        try {
          if (bytesOf(upload) > bytes) throw new BlobDamagedError(`unknown, because it has more than ${bytes} bytes`)
          const known = hashes.get(key)
          const hash = known?.parts === idOf(upload.parts) ? known.hash.digest('hex') : undefined
          hashes.delete(key)
          if (hash !== undefined) assertHash(key, hash)
          await complete(key, upload)
          const body = hash === undefined ? (await s3.send({ method: 'GET', key: nameOf(key) })).body : null
          if (body !== null) assertHash(key, await hashOf(body))
        } catch (error) {
          if (error instanceof BlobDamagedError) await discard(key, upload)
          throw error
        }
        await remove(stateOf(key))
      }),
    put,
    async open(key, { from, to } = { from: 0 }) {
      const head = await headOf(key)
      if (head === null || !(await isWhole(key, head))) return null
      const size = Number(head.headers.get('content-length'))
      const end = Math.min(to ?? size, size)
      if (from >= end) return { bytes: 0, chunks: nothing() }
      const headers = { range: `bytes=${from}-${end - 1}` }
      const found = await s3.find({ method: 'GET', key: nameOf(key), headers })
      return found && { bytes: end - from, chunks: found.body! }
    },
    async link(key, { fileName, withinS }) {
      if (options.linkEndpoint === undefined || !(await isStored(key))) return null
      const query = {
        'response-content-type': 'application/octet-stream',
        'response-content-disposition': `attachment; filename*=UTF-8''${encodeRfc5987(fileName)}`,
      }
      return s3.sign(nameOf(key), query, withinS)
    },
    async remove(key) {
      const upload = await readState(key)
      if (upload !== null) await discard(key, upload)
      else await remove(nameOf(key))
    },
    async projects() {
      const found: string[] = []
      for await (const xml of pagesOf({ delimiter: '/' })) {
        for (const inner of elementsOf(xml, 'CommonPrefixes')) {
          const name = textsOf(inner, 'Prefix')[0]!.split('/').at(-2)!
          if (isUuid(name)) found.push(name)
        }
      }
      return found
    },
    async *list(projectId) {
      let before: ListedBlob | null = null
      for await (const xml of pagesOf({ prefix: `${projectId}/` })) {
        for (const inner of elementsOf(xml, 'Contents')) {
          const [sha256 = '', kind] = textsOf(inner, 'Key')[0]!.split('/').at(-1)!.split('.')
          if (!SHA256.test(sha256)) continue
          const modifiedAt = new Date(textsOf(inner, 'LastModified')[0]!)
          const listed = { sha256, bytes: Number(textsOf(inner, 'Size')[0]), modifiedAt, complete: kind === undefined }
          // The object of an upload follows its blob, which is then not whole.
          if (before !== null && before.sha256 !== sha256) yield before
          before = kind === undefined ? listed : { ...listed, bytes: 0 }
        }
      }
      if (before !== null) yield before
    },
    async removeLeftovers(ageMs) {
      const prefix = options.prefix === '' ? '' : `${options.prefix}/`
      const query = { uploads: '', ...(prefix !== '' && { prefix }) }
      const answer = await s3.send({ method: 'GET', key: null, query }).catch(ifNotOffered)
      let removed = 0
      for (const inner of answer === null ? [] : elementsOf(await answer.text(), 'Upload')) {
        const [name, id] = [textsOf(inner, 'Key')[0]!.slice(prefix.length), textsOf(inner, 'UploadId')[0]!]
        const [projectId = '', sha256 = ''] = name.split('/')
        if (Date.now() - Date.parse(textsOf(inner, 'Initiated')[0]!) < ageMs || !SHA256.test(sha256)) continue
        if ((await readState({ projectId, sha256 }))?.id === id) continue
        await abort(name, id)
        removed++
      }
      return removed
    },
  }
}

/** A multipart upload. */
interface Upload {
  id: string
  parts: { etag: string; bytes: number }[]
}

/** Marks objects that were uploaded in parts. */
const IN_PARTS = 'x-amz-meta-reprise-parts'
const CONTENT_HASH = 'x-amz-content-sha256'
/** S3's own limit. */
const PARTS_MAX = 10_000
/** Requests at once that look for objects. */
const AT_ONCE = 32

function bytesOf(upload: Upload | null): number {
  return upload?.parts.reduce((sum, { bytes }) => sum + bytes, 0) ?? 0
}

/** Identifies the content of an upload, whoever has sent its parts. */
function idOf(parts: Upload['parts']): string {
  return sha256Of(Buffer.from(JSON.stringify(parts)))
}

/** Some services do not list or abort uploads; they have a rule for old ones. */
function ifNotOffered(error: unknown): null {
  if (error instanceof S3Refusal && [404, 405, 501].includes(error.status)) return null
  throw error
}

async function* nothing(): AsyncGenerator<Uint8Array, void> {}

function encodeRfc5987(name: string): string {
  return encodeURIComponent(name).replaceAll(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
}
