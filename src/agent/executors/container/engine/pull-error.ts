import type { FailureError } from '../../../../domain/session/failure.ts'
import { EngineError, EngineSilentError, plain } from './engine-client.ts'

/** Why a pull has failed, in the engine's words. */
export class PullError extends Error {
  /** Of the engine's answer; null if it said so later. */
  readonly status: number | null

  constructor(status: number | null, message: string) {
    super(message)
    this.status = status
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
export function mayPass({ name }: FailureError): boolean {
  return name === 'image-unreachable'
}

/** How the failure of a pull is reported. */
export function pullFailure(image: string, error: unknown): FailureError {
  const words = plain(error instanceof Error ? error.message : String(error))
  const status = error instanceof PullError || error instanceof EngineError ? error.status : null
  const name = error instanceof EngineSilentError ? 'image-unreachable' : kindOf(status, words)
  // Some registries deny what does not exist.
  const hint = name === 'image-unauthorised' ? ' (or there is no such image: some registries do not tell)' : ''
  return { name, message: `image ${plain(image)}: ${words}${hint}` }
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
