import { randomBytes } from 'node:crypto'
import { closeSync, fstatSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { ClientConfigurationError } from '../errors.ts'

/**
 * A user's named servers and tokens, in `reprise/config.json` of the user's configuration directory: `{ "current":
 * "lab", "profiles": { "lab": { "urls": ["https://…"], "token": "rpr_…" } } }`. Only the owner can read the file; a
 * file that others can read is refused.
 */
export interface Profile {
  /** Addresses of the servers, tried in this order. */
  urls: string[]
  token?: string
}

export interface Profiles {
  /** Name of the default profile. */
  current?: string
  profiles: Record<string, Profile>
}

type Environment = Readonly<Record<string, string | undefined>>

export function profilesPath(environment: Environment): string {
  if (process.platform === 'win32' && environment['APPDATA']) {
    return join(environment['APPDATA'], 'reprise', 'config.json')
  }
  return join(environment['XDG_CONFIG_HOME'] || join(homedir(), '.config'), 'reprise', 'config.json')
}

/** Reads the profiles; empty if there is no file. @throws ClientConfigurationError */
export function readProfiles(path: string): Profiles {
  let text: string
  try {
    const file = openSync(path, 'r')
    try {
      refuseOpenToOthers(path, fstatSync(file).mode)
      text = readFileSync(file, 'utf8')
    } finally {
      closeSync(file)
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { profiles: {} }
    throw error
  }
  return parseProfiles(path, text)
}

/** Writes the profiles, either completely or not at all. */
export function writeProfiles(path: string, profiles: Profiles): void {
  const draft = `${path}.${randomBytes(4).toString('hex')}`
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  try {
    writeFileSync(draft, `${JSON.stringify(profiles, null, 2)}\n`, { mode: 0o600, flag: 'wx', flush: true })
    renameSync(draft, path)
  } finally {
    rmSync(draft, { force: true })
  }
}

function refuseOpenToOthers(path: string, mode: number): void {
  if (process.platform === 'win32' || (mode & 0o077) === 0) return
  throw new ClientConfigurationError(`${path} holds tokens, but others can read it: chmod 600 ${path}`)
}

function parseProfiles(path: string, text: string): Profiles {
  try {
    const read = JSON.parse(text) as Partial<Profiles>
    const profiles = Object.entries(read.profiles ?? {})
    if (
      profiles.every(([, { urls, token }]) => Array.isArray(urls) && ['string', 'undefined'].includes(typeof token))
    ) {
      return { current: read.current, profiles: Object.fromEntries(profiles) }
    }
  } catch {
    // The error is reported below.
  }
  throw new ClientConfigurationError(`${path} is not a valid profiles file. Repair or remove it.`)
}
