import { lookup, Resolver } from 'node:dns/promises'

/** Returns the addresses of a host name, at least one. */
export type ResolveHost = (hostname: string) => Promise<string[]>

const QUERY_TIMEOUT_MS = 2_000
const QUERY_TRIES = 2
/**
 * Errors after which the system's resolver is not tried: the name servers do not answer, and it would only wait for
 * them again.
 */
const HOPELESS: readonly string[] = ['ETIMEOUT', 'ESERVFAIL']

/**
 * Queries DNS directly first. The system's resolver blocks threads, of which look-ups can use two, so a few names whose
 * servers do not answer would delay all other look-ups. A name that DNS does not know may be in the hosts file or in a
 * search domain; only then the system's resolver is used.
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
