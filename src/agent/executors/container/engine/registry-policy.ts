import { isIP } from 'node:net'
import type { FailureError } from '../../../../domain/session/failure.ts'
import { createAddressGuard } from '../../../../machine/address-guard.ts'
import type { ResolveHost } from '../../../../machine/resolve-host.ts'
import { DOCKER_HUB, isAllowed, parseReference } from './image-reference.ts'

/**
 * Which registries the engine may be sent to. The engine asks with the network of its machine, where a tenant may have
 * no business: what listens at loopback, private networks, the metadata service of a cloud. So the registry of an image
 * has to have public addresses only, unless an administrator has written out its host in REPRISE_CONTAINER_ALLOW.
 *
 * What remains where any registry is allowed: the engine looks the name up again, and DNS may answer otherwise then; and
 * a registry may send the engine elsewhere, by a redirect or by the `realm` in which it is to get a token.
 */

const isPublic = createAddressGuard([])
/** host, IPv4 or IPv6 address in brackets, with a port. */
const REGISTRY = /^([a-z\d.-]+|\[[\da-f:.]+\])(:\d{1,5})?$/i
const DIGEST = /^[a-z\d+._-]+:[\da-f]+$/i
/** A pattern of images whose host is written out; the port may be any. */
const LITERAL = /^([^*/]+?|\[[^*/\]]+\])(:(?:\d+|\*))?\//
/** What Podman takes for other places than registries, such as archives on its own disk. */
const TRANSPORTS =
  /^(?:atomic|containers-storage|dir|docker|docker-archive|docker-daemon|oci|oci-archive|ostree|sif|tarball)$/

/** Why a registry is not asked: for the tenant, and for the agent's log. */
export interface Refusal {
  failure: FailureError
  reason: string
}

/**
 * @param allow patterns of REPRISE_CONTAINER_ALLOW, and images that the agent's configuration names itself
 * @returns null if the engine may ask for the image
 */
export async function registryRefusal(
  image: string,
  allow: readonly string[],
  resolve: ResolveHost,
): Promise<Refusal | null> {
  const { registry, repository, digest } = parseReference(image)
  if (TRANSPORTS.test(repository) || /^[\w-]+:\/\//.test(image)) return invalid(image, 'it is no name of an image')
  if (digest !== null && !DIGEST.test(digest)) return invalid(image, `${digest} is no digest`)
  if (registry === DOCKER_HUB) return null
  const host = hostOf(registry)
  if (host === null) return invalid(image, `${registry} is no host of a registry`)
  if (allow.some((pattern) => namesHost(pattern, registry) && isAllowed(image, [pattern]))) return null
  if (isLocalName(host)) return refused(image, `${host} is this machine`)
  const address = host.replace(/^\[(.*)\]$/, '$1')
  const addresses = isIP(address) > 0 ? [address] : await resolve(host).catch((error: Error) => error)
  if (addresses instanceof Error) return unreachable(image, addresses.message)
  const special = addresses.find((each) => !isPublic(each))
  return special === undefined ? null : refused(image, `${host} has the address ${special}`)
}

/** Whether some pattern fits images of registries that nobody has written out. */
export function allowsAnyRegistry(allow: readonly string[]): boolean {
  return allow.some((pattern) => pattern.includes('*') && !LITERAL.test(pattern))
}

/** As programs read it: `0177.1`, `2130706433` and `0x7f000001` are addresses, too. Null if it is none. */
function hostOf(registry: string): string | null {
  if (!REGISTRY.test(registry)) return null
  try {
    return new URL(`http://${registry}/`).hostname.replace(/\.$/, '')
  } catch {
    return null
  }
}

function namesHost(pattern: string, registry: string): boolean {
  const [, host, port] = LITERAL.exec(pattern) ?? []
  if (host === undefined) return false
  const [, own, ownPort] = REGISTRY.exec(registry)!
  return host === own && (port === ':*' || port === ownPort)
}

function isLocalName(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost') || host.endsWith('.localdomain')
}

function refused(image: string, reason: string): Refusal {
  const message = `image ${image}: refused by policy: its registry is not at a public address, and REPRISE_CONTAINER_ALLOW does not name it`
  return { failure: { name: 'validation-failed', message }, reason }
}

function invalid(image: string, reason: string): Refusal {
  return { failure: { name: 'image-invalid', message: `image ${image}: ${reason}` }, reason }
}

function unreachable(image: string, reason: string): Refusal {
  return { failure: { name: 'image-unreachable', message: `image ${image}: its registry is unreachable` }, reason }
}
