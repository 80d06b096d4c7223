import { z } from 'zod'
import { readControlFile } from '../../../control-file.ts'
import { DOCKER_HUB, parseReference } from './image-reference.ts'

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

/** Under which Docker's own registry stands in `config.json`. */
const HUB_NAMES = ['https://index.docker.io/v1/', 'index.docker.io', DOCKER_HUB]

export class RegistryAuthError extends Error {}

/**
 * Credentials of an image's registry from Docker's `config.json`, for the header X-Registry-Auth; null if it has none.
 * Helpers are not asked. The file is read at each pull, so that new credentials are taken without a restart.
 *
 * @throws RegistryAuthError if the file cannot be read. Its content is in no message.
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

/** Engines take what is not padded for no credentials. */
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
