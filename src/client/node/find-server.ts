import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ClientConfigurationError } from '../errors.ts'
import { serverUrl } from '../transport/endpoints.ts'
import type { ClientEnvironment } from './environment.ts'
import type { Profile, Profiles } from './profiles.ts'

export interface FoundServer {
  urls: URL[]
  token: string | undefined
  /** Source of the URL: `directory` is the data directory of a server on this machine, `local` the default. */
  source: Source | 'directory' | 'local'
  /** Source of the token; `local` is the data directory of a server on this machine. */
  tokenSource: Source | 'local' | undefined
}

type Source = 'options' | 'environment' | 'profile'

const LOCAL_URL = 'http://127.0.0.1:4000'
const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/

/**
 * Finds the server and its token. Explicit options take precedence over the environment, then the profile, then a
 * server on this machine, whose address is in its data directory. A token stored for one server is never sent to
 * another: the token of a profile goes only to the servers of that profile, and the token of the data directory only to
 * this machine.
 * @throws ClientConfigurationError
 */
export function findServer(
  stated: { urls?: readonly string[]; token?: string; profile?: string },
  environment: ClientEnvironment,
  readProfiles: () => Profiles,
): FoundServer {
  const fromEnvironment = stated.profile === undefined ? environment.url : undefined
  const urls = stated.urls ?? fromEnvironment?.split(',').map((url) => url.trim())
  const token = stated.token ?? (stated.profile === undefined ? environment.token : undefined)
  // Profiles are not read if they are not needed, so an invalid file does no harm then.
  const profile = urls && token !== undefined ? undefined : chooseProfile(stated, environment, readProfiles())
  const found =
    where(urls, stated.urls ? 'options' : 'environment') ??
    where(profile?.urls, 'profile') ??
    where(localUrl(environment.dataDir), 'directory') ??
    where([LOCAL_URL], 'local')!
  if (token !== undefined)
    return { ...found, token, tokenSource: stated.token === undefined ? 'environment' : 'options' }
  if (found.source === 'directory') return { ...found, ...localToken(environment.dataDir) }
  return { ...found, ...keptToken(found.urls, environment.dataDir, profile) }
}

function where(urls: readonly string[] | undefined, source: FoundServer['source']) {
  return urls && urls.length > 0 ? { urls: urls.map(serverUrl), source } : undefined
}

function chooseProfile(
  stated: { profile?: string },
  environment: ClientEnvironment,
  { current, profiles }: Profiles,
): Profile | undefined {
  const name = stated.profile ?? environment.profile ?? current
  if (name === undefined) return undefined
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined
  if (!profile) throw new ClientConfigurationError(`There is no profile ${JSON.stringify(name)}`)
  return profile
}

function keptToken(
  urls: readonly URL[],
  dataDir: string,
  profile: Profile | undefined,
): Pick<FoundServer, 'token' | 'tokenSource'> {
  const kept = new Set(profile?.urls.map((url) => serverUrl(url).href))
  if (profile?.token !== undefined && urls.every(({ href }) => kept.has(href))) {
    return { token: profile.token, tokenSource: 'profile' }
  }
  if (urls.every(({ hostname }) => LOOPBACK.test(hostname))) return localToken(dataDir)
  return { token: undefined, tokenSource: undefined }
}

function localToken(dataDir: string): Pick<FoundServer, 'token' | 'tokenSource'> {
  const token = firstLine(dataDir, 'admin-token')
  return { token, tokenSource: token === undefined ? undefined : 'local' }
}

/** Reads the address in a data directory. A file that is being written has no address yet. */
function localUrl(dataDir: string): string[] | undefined {
  const url = firstLine(dataDir, SERVER_URL_FILE)
  return url !== undefined && URL.canParse(url) ? [url] : undefined
}

function firstLine(dataDir: string, file: string): string | undefined {
  try {
    return readFileSync(join(dataDir, file), 'utf8').trim() || undefined
  } catch {
    return undefined
  }
}

/**
 * Name of a file in the data directory: it has the URL of the server that uses the directory, for clients of the same
 * machine.
 */
export const SERVER_URL_FILE = 'server-url'
