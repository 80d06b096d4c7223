import { lookup, Resolver } from 'node:dns/promises'

/** The addresses of a host name, at least one. */
export type ResolveHost = (hostname: string) => Promise<string[]>

const QUERY_TIMEOUT_MS = 2_000
const QUERY_TRIES = 2
/** Nobody who knows the name answers; asking the system would only wait for the same once more. */
const HOPELESS: readonly string[] = ['ETIMEOUT', 'ESERVFAIL']

/**
 * Asks DNS without the system's resolver first: that one blocks threads of the process, of which it has two, and
 * a few names whose servers keep silent would hold up every other look-up. What DNS does not know may stand in the
 * hosts file or belong to a search domain: then the system is asked.
 */
export const resolveHost: ResolveHost = async (hostname) => {
  const resolver = new Resolver({ timeout: QUERY_TIMEOUT_MS, tries: QUERY_TRIES })
  const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
  const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  if (addresses.length > 0) return addresses
  const faults = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason as Error] : []))
  const hopeless = faults.find((fault) => HOPELESS.includes((fault as NodeJS.ErrnoException).code ?? ''))
  if (hopeless) throw hopeless
  return (await lookup(hostname, { all: true })).map(({ address }) => address)
}
