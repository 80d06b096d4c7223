import { isImageDigest } from '../../../../domain/agent/kernel-report.ts'

/** What an image's name consists of. */
export interface ImageReference {
  /** host[:port], as credentials are kept for it; that of Docker's own registry where the name has none. */
  registry: string
  /** As given, without tag and digest. */
  repository: string
  tag: string | null
  /** `sha256:…` */
  digest: string | null
}

export const DOCKER_HUB = 'docker.io'

/** Leaves it to the engine to refuse what is no name. As engines do, takes a first part with capitals for a registry. */
export function parseReference(name: string): ImageReference {
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
 * The name to pull: engines take one without a tag for all tags.
 *
 * @param digest what the image has to be, if that is known
 */
export function pullName(name: string, digest: string | null): string {
  const { repository, tag, digest: own } = parseReference(name)
  const wanted = digest ?? own
  return wanted === null ? `${repository}:${tag ?? 'latest'}` : `${repository}@${wanted}`
}

/** What registries call the image under this name: `sha256:…`; null if none of them has it. */
export function registryDigest(name: string, repoDigests: readonly string[]): string | null {
  const { repository } = parseReference(name)
  const digests = repoDigests.filter((each) => isSameRepository(each.slice(0, each.indexOf('@')), repository))
  const found = digests.map((each) => each.slice(each.indexOf('@') + 1)).find(isImageDigest)
  return found ?? null
}

/** The digest that is part of the name; null if that is only a tag, or something else. */
export function ownDigest(name: string): string | null {
  const { digest } = parseReference(name)
  return isImageDigest(digest) ? digest : null
}

/** Whether both names are of one repository, whatever their tags and digests. */
export function isSameImage(listed: string, name: string): boolean {
  return isSameRepository(parseReference(listed).repository, parseReference(name).repository)
}

/** Engines write the registry's own names in full: `docker.io/library/python`. */
function isSameRepository(listed: string, given: string): boolean {
  return inFull(listed) === inFull(given)
}

function inFull(repository: string): string {
  const { registry } = parseReference(repository)
  if (registry !== DOCKER_HUB) return repository
  const path = repository.startsWith(`${DOCKER_HUB}/`) ? repository.slice(DOCKER_HUB.length + 1) : repository
  return `${DOCKER_HUB}/${path.includes('/') ? path : `library/${path}`}`
}

/** Whether a name fits a pattern in which `*` stands for anything. Names are compared as given. */
export function isAllowed(name: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => {
    const parts = pattern.split('*').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
    return new RegExp(`^${parts.join('.*')}$`, 's').test(name)
  })
}
