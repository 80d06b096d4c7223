import type { FailureError } from '../../../../domain/session/failure.ts'
import { EngineError, EngineSilentError, plain } from './engine-client.ts'

/** Why a pull has failed. */
export class PullError extends Error {
  /** Of the engine's answer; null if it said so later. */
  readonly status: number | null
  /** Whether the words are this agent's. */
  readonly isOwn: boolean

  constructor(status: number | null, message: string, { isOwn = false } = {}) {
    super(message)
    this.status = status
    this.isOwn = isOwn
  }
}

/** In this order: messages of one kind mention words of another. */
const KINDS: readonly [RegExp, string][] = [
  [/no space left|disk quota/i, 'image-disk-full'],
  [/pull access denied|unauthori[sz]ed|no basic auth|denied|forbidden|authentication required/i, 'image-unauthorised'],
  [/(?:manifest|name|blob) unknown|unknown blob|not found|does not exist/i, 'image-not-found'],
  [
    /invalid reference|must be lowercase|invalid (tag|digest)|unsupported|no matching manifest|no image found in manifest list|mediatype|digest mismatch|manifest invalid/i,
    'image-invalid',
  ],
]

/** Names of failures that may be gone a moment later, whoever asked. */
export function mayPass({ name }: Pick<FailureError, 'name'>): boolean {
  return name === 'image-unreachable'
}

/** What a tenant reads: an engine repeats whole answers of whoever listens where the image's name has led it. */
const CLASSES: Readonly<Record<string, string>> = {
  'image-not-found': 'no such image',
  // Some registries deny what does not exist.
  'image-unauthorised':
    'denied: its registry wants other credentials (or there is no such image: some registries do not tell)',
  'image-unreachable': 'its registry is unreachable',
  'image-invalid': 'no valid name, or no image for this machine',
  'image-disk-full': "the disk of the agent's engine is full",
}

/** How the failure of a pull is reported: to the tenant by its class alone, and in the engine's words to the log. */
export function pullFailure(image: string, error: unknown): FailureError & { words: string } {
  const words = plain(error instanceof Error ? error.message : String(error))
  const status = error instanceof PullError || error instanceof EngineError ? error.status : null
  const name = error instanceof EngineSilentError ? 'image-unreachable' : kindOf(status, words)
  const told = error instanceof PullError && error.isOwn ? words : CLASSES[name]!
  return { name, message: `image ${plain(image)}: ${told}`, words }
}

function kindOf(status: number | null, words: string): string {
  // Of a registry that cannot be asked, too, a name may be "not found".
  if (/no such host|lookup .* on |connection refused|i\/o timeout|server gave HTTP response/i.test(words)) {
    return 'image-unreachable'
  }
  const known = KINDS.find(([pattern]) => pattern.test(words))
  if (known !== undefined) return known[1]
  if (status === 401 || status === 403) return 'image-unauthorised'
  if (status === 404) return 'image-not-found'
  return status === 400 ? 'image-invalid' : 'image-unreachable'
}
