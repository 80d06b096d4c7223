import { AwsClient } from 'aws4fetch'
import { messageOf } from '../../observability/error-message.ts'
import { wait } from '../../waiting/wait.ts'
import { BlobStoreAwayError } from './blob-store.ts'

export interface S3Options {
  bucket: string
  /** Without slashes at its ends; empty for none. */
  prefix: string
  /** Address of the service, such as `https://s3.eu-west-1.amazonaws.com`. */
  endpoint: string
  /** Address of the service for clients, if they can reach it. */
  linkEndpoint?: string | undefined
  region: string
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string | undefined
}

interface S3Request {
  method: 'GET' | 'PUT' | 'POST' | 'DELETE' | 'HEAD'
  /** Below the prefix; null for the bucket itself. */
  key: string | null
  query?: Record<string, string>
  headers?: Record<string, string>
  body?: Uint8Array | string
}

/** The service has refused a request. */
export class S3Refusal extends Error {
  readonly status: number
  /** For example `NoSuchUpload`; empty if the answer has none. */
  readonly code: string

  constructor(what: string, status: number, text: string) {
    const code = /<Code>([^<]*)<\/Code>/.exec(text)?.[1] ?? ''
    const said = /<Message>([^<]*)<\/Message>/.exec(text)?.[1] ?? ''
    super(`${what}: S3 answers ${status} ${code} ${said}`.trimEnd())
    this.status = status
    this.code = code
  }
}

const TRIES_MAX = 4
const PAUSE_MS = 100
/** Time for the head of an answer: completing an upload of many parts takes the service minutes. */
const ANSWER_WITHIN_MS = 300_000

export interface S3Requests {
  /**
   * Sends a request, and repeats it after faults of the service.
   *
   * @throws S3Refusal
   * @throws BlobStoreAwayError if the service does not answer
   * @throws Error with the code ENOSPC if the service is full
   */
  send(request: S3Request): Promise<Response>
  /** The same; null if there is no such object. */
  find(request: S3Request): Promise<Response | null>
  /** @returns a URL that is valid for a limited time; null if clients cannot reach the service */
  sign(key: string, query: Record<string, string>, withinS: number): Promise<string | null>
}

export function createS3Requests(options: S3Options): S3Requests {
  const { bucket, prefix, endpoint, linkEndpoint, sessionToken, ...access } = options
  const client = new AwsClient({ ...access, service: 's3', ...(sessionToken !== undefined && { sessionToken }) })

  function urlOf(base: string, key: string | null, query: Record<string, string>): URL {
    const path = [bucket, ...(key === null ? [] : [prefix, key])].filter((part) => part !== '').join('/')
    const url = new URL(`${base.replace(/\/+$/, '')}/${path}`)
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    return url
  }

  async function once({ method, key, query = {}, headers = {}, body }: S3Request): Promise<Response> {
    const signed = await client.sign(urlOf(endpoint, key, query), {
      method,
      headers,
      ...(body !== undefined && { body: body as BodyInit }),
    })
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(new Error('it does not answer in time')), ANSWER_WITHIN_MS)
    try {
      return await fetch(signed, { signal: late.signal })
    } finally {
      clearTimeout(timer)
    }
  }

  async function send(request: S3Request): Promise<Response> {
    const what = `${request.method} ${request.key ?? bucket}`
    for (let tries = 1; ; tries++) {
      let fault: Error
      try {
        const response = await once(request)
        if (response.ok) return response
        const refusal = new S3Refusal(what, response.status, request.method === 'HEAD' ? '' : await response.text())
        if (isFull(refusal)) throw Object.assign(refusal, { code: 'ENOSPC' })
        if (!isPassing(refusal)) throw refusal
        fault = refusal
      } catch (error) {
        if (error instanceof S3Refusal) throw error
        fault = new Error(`${what}: ${reasonOf(error)}`)
      }
      // Without the cause, whose code could be taken for an outage of the database.
      if (tries === TRIES_MAX) throw new BlobStoreAwayError(fault.message)
      await wait(PAUSE_MS * 2 ** tries)
    }
  }

  return {
    send,
    find: (request) =>
      send(request).catch((error: unknown) => {
        if (error instanceof S3Refusal && error.status === 404) return null
        throw error
      }),
    async sign(key, query, withinS) {
      if (linkEndpoint === undefined) return null
      const url = urlOf(linkEndpoint, key, { ...query, 'X-Amz-Expires': String(withinS) })
      return (await client.sign(url, { method: 'GET', aws: { signQuery: true } })).url
    },
  }
}

function isPassing({ status, code }: S3Refusal): boolean {
  return (status >= 500 && status !== 501) || status === 429 || status === 408 || code === 'RequestTimeout'
}

function isFull({ status, code }: S3Refusal): boolean {
  return status === 507 || code === 'XMinioStorageFull' || code === 'QuotaExceeded'
}

/** The message of an error of `fetch` has no reason: its cause has. */
function reasonOf(error: unknown): string {
  const { cause } = error as Error
  return messageOf(cause instanceof Error && cause.message !== '' ? cause : error)
}

/** Returns the texts of an element, in their order. Names and values of a store have nothing to be decoded. */
export function textsOf(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}>([^<]*)</${name}>`, 'g'))].map(([, text]) => text!)
}

/** Returns the contents of an element that has elements in it. */
export function elementsOf(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}>(.*?)</${name}>`, 'gs'))].map(([, inner]) => inner!)
}
