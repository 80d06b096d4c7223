import { HttpStatusError } from '../errors.ts'
import type { HttpAnswer, HttpRequest, Transport } from './transport.ts'

/** A proxy in front of a server needs one or two. */
const REDIRECTS_MAX = 5

/** Those that keep method and body; with the others a request would become a different one. */
const FOLLOWED: readonly number[] = [307, 308]
const REDIRECTS: readonly number[] = [301, 302, 303, ...FOLLOWED]

/**
 * Sends a request and follows redirects to where `isKnown` says that the token may go. Anything else is told, with the
 * address: the request and its credentials are sent nowhere that was not configured.
 * @throws HttpStatusError; ConnectionError; the signal's reason
 */
export async function sendFollowing(
  transport: Transport,
  request: HttpRequest,
  isKnown: (url: URL) => boolean,
): Promise<HttpAnswer> {
  let { url } = request
  for (let followed = 0; ; followed++) {
    const answer = await transport.send({ ...request, url })
    if (answer.redirectHidden) throw hidden(url)
    if (!REDIRECTS.includes(answer.status)) return answer
    const target = targetOf(answer, url)
    if (target === null) return answer
    const why = refusal(answer.status, target, followed, isKnown)
    if (why !== null) throw redirected(answer, url, target, why)
    url = target
  }
}

function targetOf({ location }: HttpAnswer, from: URL): URL | null {
  if (location === null || !URL.canParse(location, from)) return null
  const target = new URL(location, from)
  // Credentials in an address would replace the token.
  target.username = ''
  target.password = ''
  return target
}

function refusal(status: number, target: URL, followed: number, isKnown: (url: URL) => boolean): string | null {
  if (!FOLLOWED.includes(status)) return 'which is not followed; give the client this address'
  if (!isKnown(target)) return 'which is none of the configured servers; give the client this address'
  if (followed >= REDIRECTS_MAX) return `after ${REDIRECTS_MAX} other redirects`
  return null
}

function redirected({ status, requestId }: HttpAnswer, from: URL, target: URL, why: string): HttpStatusError {
  const to = `${target.origin}${target.pathname}`
  const message = `${from.origin} answered with ${status} and points to ${to}, ${why}`
  return new HttpStatusError(status, message, { requestId: requestId ?? undefined })
}

function hidden({ origin }: URL): HttpStatusError {
  return new HttpStatusError(0, `${origin} redirects, and browsers do not tell where: give the client that address`)
}
