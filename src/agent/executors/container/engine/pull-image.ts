import { setTimeout as sleep } from 'node:timers/promises'
import type { FailureError } from '../../../../domain/session/failure.ts'
import { resolveHost, type ResolveHost } from '../../../../machine/resolve-host.ts'
import type { Logger } from '../../../../observability/log.ts'
import { EngineError, EngineSilentError, plain } from './engine-client.ts'
import type { Engine } from './engine.ts'
import type { ImageDescription, PullItem } from './engine-answers.ts'
import { isSameImage, ownDigest, pullName, registryAuthorisation, registryDigest, registryRefusal } from './registry.ts'
import type { PulledImages } from './pulled-images.ts'

export type PullPolicy = 'missing' | 'always' | 'never'

export interface ResolvedImage {
  /** The image's id, from which containers are created even if its name moves on. */
  id: string
  /** How other agents know the image: the registry's digest, or its id if no registry has it. */
  digest: string
}

export interface ImageRequest {
  name: string
  /** The required digest; null for the image that the name refers to now. */
  digest: string | null
  policy: PullPolicy
}

/** Pauses before further tries after a temporary error. */
const RETRY_AFTER_MS = [2_000, 10_000]
const SILENT_MAX_MS = 120_000
const OWN = { isOwn: true }
const PROGRESS_INTERVAL_MS = 1_000

interface Pull {
  readonly listeners: Set<(progress: string) => void>
  readonly result: Promise<FailureError | null>
  progress: string
}

export interface ImagePuller {
  /**
   * @param progress called with text for people, at most once a second
   * @throws EngineSilentError
   */
  resolve(request: ImageRequest, progress: (text: string) => void): Promise<ResolvedImage | FailureError>
  close(): void
}

export interface PullerOptions {
  authFile?: string | undefined
  /** Patterns of images, and images, whose registries an administrator has named. */
  allow: readonly string[]
  /** Receives the messages of engines and registries, which tenants must not see. */
  log: Pick<Logger, 'warn'>
  /** Replaced by tests. */
  resolve?: ResolveHost
  pulled: Pick<PulledImages, 'look' | 'pulled'>
  retryAfterMs?: readonly number[]
  /** Cancels a pull that makes no progress for this long. */
  silentMaxMs?: number
}

/** Pulls each image once at a time, for all kernels that wait for it. */
export function createImagePuller(engine: Engine, options: PullerOptions): ImagePuller {
  const { authFile, allow, log, pulled, retryAfterMs = RETRY_AFTER_MS, silentMaxMs = SILENT_MAX_MS } = options
  const pulls = new Map<string, Pull>()
  const closing = new AbortController()

  const find = (request: ImageRequest) => pulled.look(() => inspect(request))

  async function inspect({ name, digest }: ImageRequest): Promise<ImageDescription | null> {
    const found = await engine.inspectImage(pullName(name, digest))
    if (found !== null || digest === null) return found
    // An image without a registry is known by its id, which may come from another agent. It must have no other name
    // here.
    const byId = await engine.inspectImage(digest)
    return byId !== null && isNamed(byId, name) ? byId : null
  }

  /** Returns the failure for the tenant, and logs the engine's message. */
  function reported(image: string, error: unknown): FailureError {
    const { words, ...failure } = pullFailure(image, error)
    log.warn({ image, failure: failure.name, error: words }, 'an image could not be obtained')
    return failure
  }

  function pullOnce(name: string): Pull {
    const running = pulls.get(name)
    if (running !== undefined) return running
    const listeners = new Set<(progress: string) => void>()
    const progress = (text: string) => tell(pull, text)
    // The pull begins after its listeners are registered.
    const pull: Pull = { listeners, progress: '', result: Promise.resolve().then(() => pullAgain(name, progress)) }
    pulls.set(name, pull)
    const forget = () => void pulls.delete(name)
    pull.result.then(forget, forget)
    return pull
  }

  async function pullAgain(name: string, progress: (text: string) => void): Promise<FailureError | null> {
    for (const pause of [...retryAfterMs, null]) {
      const failure = await pullFrom(name, progress)
      if (failure === null || !mayPass(failure) || pause === null || closing.signal.aborted) return failure
      progress(`pulling again: ${failure.message}`)
      await sleep(pause, undefined, { signal: closing.signal }).catch(() => undefined)
    }
    return null
  }

  async function pullFrom(name: string, progress: (text: string) => void): Promise<FailureError | null> {
    const silence = new AbortController()
    const overdue = () => silence.abort(new PullError(null, `no progress for ${silentMaxMs / 1_000} s`, OWN))
    let timer = setTimeout(overdue, silentMaxMs)
    const layers = new Map<string, PullItem>()
    progress(`pulling ${name}`)
    try {
      const authorisation = registryAuthorisation(authFile, name)
      const signal = AbortSignal.any([silence.signal, closing.signal])
      for await (const item of engine.pull(name, authorisation, signal)) {
        clearTimeout(timer)
        timer = setTimeout(overdue, silentMaxMs)
        const fault = item.error || item.errorDetail.message
        if (fault !== '') throw new PullError(null, fault)
        if (item.id !== '') layers.set(item.id, further(layers.get(item.id), item))
        progress(describeProgress(name, layers))
      }
      return null
    } catch (error) {
      if (error instanceof EngineSilentError && !silence.signal.aborted) throw error
      return reported(name, silence.signal.aborted ? silence.signal.reason : error)
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    async resolve(request, progress) {
      const { name, digest, policy } = request
      try {
        const there = await find(request)
        const isEnough = policy !== 'always' || digest !== null
        if (there !== null && isEnough) return resolved(request, there)
        if (policy === 'never')
          return reported(name, new PullError(404, 'not found on this agent, which pulls none', OWN))
        const refusal = await registryRefusal(name, allow, options.resolve ?? resolveHost)
        if (refusal !== null) {
          log.warn({ image: name, reason: refusal.reason }, 'the registry of an image is not asked')
          return refusal.failure
        }
        const pull = pullOnce(pullName(name, digest))
        pull.listeners.add(progress)
        if (pull.progress !== '') progress(pull.progress)
        const failure = await pull.result.finally(() => pull.listeners.delete(progress))
        if (failure !== null) return failure
        const image = await find(request)
        if (image === null) return reported(name, new PullError(404, 'not found after it was pulled', OWN))
        pulled.pulled(image, pullName(name, digest), there)
        return resolved(request, image)
      } catch (error) {
        if (error instanceof EngineSilentError) throw error
        return reported(name, error)
      }
    },
    close: () => closing.abort(),
  }
}

/** Whether the image has a name in that repository, or had one before a newer image took its only name. */
function isNamed({ repoTags, repoDigests }: ImageDescription, name: string): boolean {
  const names = [...repoTags, ...repoDigests]
  return names.length === 0 || names.some((each) => isSameImage(each, name))
}

function resolved({ name, digest }: ImageRequest, image: ImageDescription): ResolvedImage {
  return {
    id: image.id,
    digest: digest ?? ownDigest(name) ?? registryDigest(name, image.repoDigests) ?? image.id,
  }
}

/** Time of the last report of each pull, because engines report progress far more often than needed. */
const toldAt = new WeakMap<Pull, number>()

function tell(pull: Pull, text: string): void {
  const now = performance.now()
  if (text === pull.progress || now - (toldAt.get(pull) ?? Number.NEGATIVE_INFINITY) < PROGRESS_INTERVAL_MS) return
  toldAt.set(pull, now)
  pull.progress = text
  for (const listener of pull.listeners) listener(text)
}

/**
 * Combines progress: engines count from zero again while they extract a layer, and stop counting once it is complete.
 */
function further(before: PullItem | undefined, { progressDetail, ...item }: PullItem): PullItem {
  const current = Math.max(before?.progressDetail.current ?? 0, progressDetail.current)
  return { ...item, progressDetail: { ...progressDetail, current } }
}

const DONE = /^(Download complete|Pull complete|Already exists)$/
const MIB = 1024 * 1024

function describeProgress(name: string, layers: ReadonlyMap<string, PullItem>): string {
  const all = [...layers.values()]
  const done = all.filter(({ status }) => DONE.test(status)).length
  const bytes = all.reduce((sum, { progressDetail }) => sum + progressDetail.current, 0)
  const amount = bytes === 0 ? '' : `, ${(bytes / MIB).toFixed(1)} MiB`
  return `pulling ${name}: ${done} of ${all.length} layers${amount}`
}

/** Why a pull has failed. */
class PullError extends Error {
  /** Status of the engine's answer; null if the error came later. */
  readonly status: number | null
  /** Whether the message was written by this agent. */
  readonly isOwn: boolean

  constructor(status: number | null, message: string, { isOwn = false } = {}) {
    super(message)
    this.status = status
    this.isOwn = isOwn
  }
}

/** Patterns of errors, in this order: a message of one kind may contain words of another. */
const KINDS: readonly [RegExp, string][] = [
  [/no space left|disk quota/i, 'image-disk-full'],
  [/pull access denied|unauthori[sz]ed|no basic auth|denied|forbidden|authentication required/i, 'image-unauthorised'],
  [/(?:manifest|name|blob) unknown|unknown blob|not found|does not exist/i, 'image-not-found'],
  [
    /invalid reference|must be lowercase|invalid (tag|digest)|unsupported|no matching manifest|no image found in manifest list|mediatype|digest mismatch|manifest invalid/i,
    'image-invalid',
  ],
]

/** Whether another try may succeed, for any session. */
function mayPass({ name }: Pick<FailureError, 'name'>): boolean {
  return name === 'image-unreachable'
}

/**
 * Texts for tenants. An engine's own message may repeat a whole answer of any server that the image's name points to.
 */
const CLASSES: Readonly<Record<string, string>> = {
  'image-not-found': 'no such image',
  // Some registries answer "denied" for images that do not exist.
  'image-unauthorised':
    'denied: its registry wants other credentials (or there is no such image: some registries do not tell)',
  'image-unreachable': 'its registry is unreachable',
  'image-invalid': 'no valid name, or no image for this machine',
  'image-disk-full': "the disk of the agent's engine is full",
}

/** Returns the failure of a pull: its kind for the tenant, and the engine's message for the log. */
function pullFailure(image: string, error: unknown): FailureError & { words: string } {
  const words = plain(error instanceof Error ? error.message : String(error))
  const status = error instanceof PullError || error instanceof EngineError ? error.status : null
  const name = error instanceof EngineSilentError ? 'image-unreachable' : kindOf(status, words)
  const told = error instanceof PullError && error.isOwn ? words : CLASSES[name]!
  return { name, message: `image ${plain(image)}: ${told}`, words }
}

function kindOf(status: number | null, words: string): string {
  // A message may also contain "not found" when the registry cannot be reached.
  if (/no such host|lookup .* on |connection refused|i\/o timeout|server gave HTTP response/i.test(words)) {
    return 'image-unreachable'
  }
  const known = KINDS.find(([pattern]) => pattern.test(words))
  if (known !== undefined) return known[1]
  if (status === 401 || status === 403) return 'image-unauthorised'
  if (status === 404) return 'image-not-found'
  return status === 400 ? 'image-invalid' : 'image-unreachable'
}
