import { isImageDigest } from '../../../../domain/agent/kernel-report.ts'
import { z } from 'zod'
import { readControlFile } from '../../../control-file.ts'
import { isIP } from 'node:net'
import type { FailureError } from '../../../../domain/session/failure.ts'
import { createAddressGuard } from '../../../../machine/address-guard.ts'
import type { ResolveHost } from '../../../../machine/resolve-host.ts'

/** The parts of an image's name. */
interface ImageReference {
  /** host[:port], as used in credentials; Docker's own registry if the name has none. */
  registry: string
  /** As given, without tag and digest. */
  repository: string
  tag: string | null
  /** `sha256:…` */
  digest: string | null
}

const DOCKER_HUB = 'docker.io'

/** Parses a name. The engine refuses invalid names. Like engines, treats a first part with capitals as a registry. */
function parseReference(name: string): ImageReference {
  const at = name.indexOf('@')
  const [named, digest] = at < 0 ? [name, null] : [name.slice(0, at), name.slice(at + 1)]
  const colon = named.lastIndexOf(':')
  const hasTag = colon > named.lastIndexOf('/')
  const repository = hasTag ? named.slice(0, colon) : named
  const [first = ''] = repository.split('/', 1)
  const hasRegistry = repository.includes('/') && (/[.:A-Z]/.test(first) || first === 'localhost')
  return { registry: hasRegistry ? first : DOCKER_HUB, repository, tag: hasTag ? named.slice(colon + 1) : null, digest }
}

/**
 * Returns the name to pull, always with a tag or digest, since engines take a name without one for all tags.
 *
 * @param digest the required digest, if known
 */
export function pullName(name: string, digest: string | null): string {
  const { repository, tag, digest: own } = parseReference(name)
  const wanted = digest ?? own
  return wanted === null ? `${repository}:${tag ?? 'latest'}` : `${repository}@${wanted}`
}

/** Returns the digest that registries have for this name, as `sha256:…`; null if no registry has the image. */
export function registryDigest(name: string, repoDigests: readonly string[]): string | null {
  const { repository } = parseReference(name)
  const digests = repoDigests.filter((each) => isSameRepository(each.slice(0, each.indexOf('@')), repository))
  const found = digests.map((each) => each.slice(each.indexOf('@') + 1)).find(isImageDigest)
  return found ?? null
}

/** Returns the digest in the name; null if it has only a tag, or neither. */
export function ownDigest(name: string): string | null {
  const { digest } = parseReference(name)
  return isImageDigest(digest) ? digest : null
}

/** Whether both names belong to one repository, regardless of their tags and digests. */
export function isSameImage(listed: string, name: string): boolean {
  return isSameRepository(parseReference(listed).repository, parseReference(name).repository)
}

/**
 * Whether the repositories are the same: engines write names of Docker's registry in full, as
 * `docker.io/library/python`.
 */
function isSameRepository(listed: string, given: string): boolean {
  return inFull(listed) === inFull(given)
}

function inFull(repository: string): string {
  const { registry } = parseReference(repository)
  if (registry !== DOCKER_HUB) return repository
  const path = repository.startsWith(`${DOCKER_HUB}/`) ? repository.slice(DOCKER_HUB.length + 1) : repository
  return `${DOCKER_HUB}/${path.includes('/') ? path : `library/${path}`}`
}

/** Whether a name matches a pattern, in which `*` matches any text. Names are compared as given. */
export function isAllowed(name: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => {
    const parts = pattern.split('*').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
    return new RegExp(`^${parts.join('.*')}$`, 's').test(name)
  })
}

const schema = z.object({
  auths: z
    .record(
      z.string(),
      z.object({
        auth: z.string().optional(),
        username: z.string().optional(),
        password: z.string().optional(),
        identitytoken: z.string().optional(),
      }),
    )
    .default({}),
})

/** Names of Docker's own registry in `config.json`. */
const HUB_NAMES = ['https://index.docker.io/v1/', 'index.docker.io', DOCKER_HUB]

class RegistryAuthError extends Error {}

/**
 * Returns the credentials of an image's registry from Docker's `config.json`, for the header X-Registry-Auth; null if
 * there are none. Helpers are not asked. The file is read at each pull, so that new credentials need no restart.
 *
 * @throws RegistryAuthError if the file cannot be read. Messages never contain its content.
 */
export function registryAuthorisation(file: string | undefined, image: string): string | null {
  if (file === undefined) return null
  const text = readControlFile(file)
  if (text === null) throw new RegistryAuthError('REPRISE_CONTAINER_AUTH_FILE cannot be read')
  const { registry } = parseReference(image)
  const { auths } = parse(text)
  const names = registry === DOCKER_HUB ? HUB_NAMES : [registry, `https://${registry}`, `https://${registry}/v2/`]
  const entry = names.map((name) => (Object.hasOwn(auths, name) ? auths[name] : undefined)).find(Boolean)
  if (entry === undefined) return null
  const { auth, identitytoken, ...named } = entry
  const [username, password] = auth === undefined ? [named.username, named.password] : splitAuth(auth)
  const credentials = identitytoken
    ? { identitytoken, serveraddress: registry }
    : { username, password, serveraddress: registry }
  return paddedBase64Url(JSON.stringify(credentials))
}

/** Encodes with padding, because engines ignore credentials without it. */
function paddedBase64Url(text: string): string {
  return Buffer.from(text).toString('base64').replaceAll('+', '-').replaceAll('/', '_')
}

function parse(text: string): z.output<typeof schema> {
  try {
    return schema.parse(JSON.parse(text))
  } catch {
    throw new RegistryAuthError("REPRISE_CONTAINER_AUTH_FILE is not like Docker's config.json")
  }
}

function splitAuth(auth: string): [string, string] {
  const text = Buffer.from(auth, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  return colon < 0 ? [text, ''] : [text.slice(0, colon), text.slice(colon + 1)]
}

/**
 * Decides which registries the engine may ask. The engine uses the network of its machine, which a tenant must not
 * reach: loopback, private networks, the metadata service of a cloud. So the registry of an image must have only public
 * addresses, unless an administrator has written out its host in REPRISE_CONTAINER_ALLOW.
 *
 * A risk remains where any registry is allowed. The engine looks up the name again, and DNS may then answer
 * differently. And a registry may send the engine elsewhere, by a redirect or by the `realm` from which it gets a
 * token.
 */

const isPublic = createAddressGuard([])
/** A host name, an IPv4 address or an IPv6 address in brackets, with an optional port. */
const REGISTRY = /^([a-z\d.-]+|\[[\da-f:.]+\])(:\d{1,5})?$/i
const DIGEST = /^[a-z\d+._-]+:[\da-f]+$/i
/** A pattern of images whose host is written out; the port may be anything. */
const LITERAL = /^([^*/]+?|\[[^*/\]]+\])(:(?:\d+|\*))?\//
/**
 * Prefixes of names that Podman does not treat as registries but as other sources, such as archives on its own disk.
 */
const TRANSPORTS =
  /^(?:atomic|containers-storage|dir|docker|docker-archive|docker-daemon|oci|oci-archive|ostree|sif|tarball)$/

/** Why a registry is not asked, once for the tenant and once for the agent's log. */
interface Refusal {
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

/** Whether a pattern matches images of registries whose host is not written out. */
export function allowsAnyRegistry(allow: readonly string[]): boolean {
  return allow.some((pattern) => pattern.includes('*') && !LITERAL.test(pattern))
}

/**
 * Returns the host as programs read it, since `0177.1`, `2130706433` and `0x7f000001` are addresses, too. Null if it is
 * none.
 */
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
